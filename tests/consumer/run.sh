#!/usr/bin/env bash
# Installs CERAR, builds the 20-line program beside this script against the installed package, and runs it on a ring.
#   run.sh BUILD_FOLDER CXX
set -euo pipefail
build=$1
compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build" >/dev/null

cerar=$work/prefix/bin/cerar
"$cerar" fit --workers 3 --chunks 6 -o "$work/code.json" >/dev/null
exact=$("$cerar" launch -n 3 -- "$work/build/consumer" | sort)
coded=$("$cerar" launch -n 3 -- "$work/build/consumer" "$work/code.json" | sort)
expected="[0] rank 0 of 3: 6.000
[1] rank 1 of 3: 6.000
[2] rank 2 of 3: 6.000"
[ "$exact" = "$expected" ] || { echo "exact ring printed: $exact"; exit 1; }
# The coded sum is 6 within 0.1 %.
[ "$(grep -cE 'of 3: (5\.99[4-9]|6\.00[0-6])$' <<<"$coded")" = 3 ] || { echo "coded ring printed: $coded"; exit 1; }
# The installed program has no need of the source tree.
(cd / && "$cerar" --version)
