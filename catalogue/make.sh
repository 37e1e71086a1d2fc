#!/bin/sh
# Makes the catalogue again with the program given (build/cerar): <workers>-<chunks>-<wire>.json.gz, each the code file
# of a default fit, on integers that of the better construction; and index.csv, which the program carries.
set -eu
cerar=$(realpath "${1:-build/cerar}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

field() { sed -n "s/^  \"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" "$work/$1.txt"; }

columns="workers chunks wire construction predicted_relative_error simulated_relative_error kappa_max hash"
echo "$columns" | tr ' ' , > "$work/index.csv"
for workers in $(seq 2 16); do
  for chunks in $((workers + 1)) $((2 * workers)) $((3 * workers)) $((4 * workers)); do
    for wire in f32 i32; do
      best=overlapped
      for construction in overlapped $([ $wire = f32 ] || echo cyclic); do
        nice "$cerar" fit --workers "$workers" --chunks "$chunks" --wire $wire --construction "$construction" --json \
          -o "$work/$construction.json" > "$work/$construction.txt"
        best=$(for one in $best $construction; do
          echo "$(field "$one" simulated_relative_error) $one"
        done | sort -sg | head -n 1 | cut -d ' ' -f 2)
      done
      gzip -9nc "$work/$best.json" > "$workers-$chunks-$wire.json.gz"
      for column in $columns; do field "$best" "$column"; done | paste -sd , | tee -a "$work/index.csv"
    done
  done
done
cp "$work/index.csv" index.csv
