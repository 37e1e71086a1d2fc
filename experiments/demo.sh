#!/usr/bin/env bash
# The demonstration of `make demo`: the same training with exact, coded and piggyback sums, side by side.
#   experiments/demo.sh PROGRAM FOLDER
set -euo pipefail
cerar=$1
out=$2
mkdir -p "$out"

step() { printf '\n== %s\n' "$*"; }

step "1/4 Fit a code for 4 workers and 12 chunks, and a piggyback code for 32"
"$cerar" fit --workers 4 --chunks 12 -o "$out/code.json"
"$cerar" fit --construction piggyback --workers 4 --chunks 32 -o "$out/piggyback.json"
step "2/4 Train 784-256-10 on Fashion-MNIST with the exact ring"
"$cerar" train --workers 4 --reduce exact --json "$out/exact.jsonl"
step "3/4 The same training with the coded and with the piggyback ring"
"$cerar" train --workers 4 --code "$out/code.json" --json "$out/coded.jsonl"
"$cerar" train --workers 4 --code "$out/piggyback.json" --json "$out/piggyback.jsonl"
step "4/4 Compare"
"$cerar" compare "$out/exact.jsonl" "$out/coded.jsonl" "$out/piggyback.jsonl" --plot "$out/training.png"
