#!/bin/sh
# Draws docs/images/piggyback_error_rate.png: error against bytes sent, for every algorithm at N = 4 and N = 8.
# Every code is fitted and simulated in float32 on the way, which takes a few seconds.
#
#   experiments/figures/piggyback_error_rate.sh build/cerar docs/images/piggyback_error_rate.png
set -eu

cerar=${1:-build/cerar}
png=${2:-docs/images/piggyback_error_rate.png}
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

# points CONSTRUCTION N C...: "bytes a value, error in percent, c / N" for each c. A float32 has four bytes.
points() {
  construction=$1
  workers=$2
  shift 2
  for chunks in "$@"; do
    "$cerar" fit --construction "$construction" --workers "$workers" --chunks "$chunks" --json |
      sed -n 's/^ *"\(rate\|simulated_relative_error\)": \([^,]*\),*$/\1 \2/p' |
      awk -v chunks="$chunks" -v workers="$workers" '
        { value[$1] = $2 }
        END { print 4 * value["rate"], 100 * value["simulated_relative_error"], chunks / workers }'
  done
}

for workers in 4 8; do
  n=$workers
  points ring $n $n >"$data/ring_$n"
  points overlapped $n $((5 * n / 4)) $((3 * n / 2)) $((2 * n)) $((3 * n)) $((4 * n)) $((5 * n)) >"$data/overlapped_$n"
  points cyclic $n $((5 * n / 4)) $((3 * n / 2)) $((2 * n)) $((3 * n)) $((4 * n)) $((5 * n)) >"$data/cyclic_$n"
  points piggyback $n $((2 * n)) $((3 * n)) $((4 * n)) $((8 * n)) $((32 * n)) >"$data/piggyback_$n"
done
# Exact rings with shorter words, docs/theory.md (build/test_coding -tc="bytes*"): bytes a value, percent, name.
printf '3.00 0.263 bfloat16\n3.02 0.0042 int16\n' >"$data/quantised_4"
printf '3.50 0.353 bfloat16\n3.53 0.0058 int16\n' >"$data/quantised_8"
# The paper's own figure at N = 4, c = 12: 1.6 to 2.9 percent.
printf '4.6667 2.15 1.6 2.9\n' >"$data/paper_4"
printf '4.6667 NaN NaN NaN\n' >"$data/paper_8"

gnuplot - <<GNUPLOT
set terminal pngcairo noenhanced size 1300,720 font 'DejaVu Sans,11' background rgb 'white'
set output '$png'
set encoding utf8
set multiplot
set border 11 lc rgb '#666666'
set tics nomirror textcolor rgb '#333333'
set grid lc rgb '#e4e4e4' lw 1
set logscale y
set yrange [1e-6:20]
set xrange [2.2:7.8]
set xtics 1
set link x2 via x / 4 inverse x * 4
set x2tics 0.25 format '%.2f'
set x2label 'values sent per gradient value, if they are float32 (rate)' offset 0, -0.6
set ytics ('10 %%' 10, '1 %%' 1, '0.1 %%' 0.1, '0.01 %%' 1e-2, '0.001 %%' 1e-3, '10⁻⁴ %%' 1e-4, '10⁻⁵ %%' 1e-5, '10⁻⁶ %%' 1e-6)
set xlabel 'bytes sent per worker and gradient value'
set bmargin at screen 0.10
set tmargin at screen 0.87
set key off
orange = '#d95f02'; blue = '#1f6fb4'; green = '#3a9a5b'; grey = '#777777'; red = '#b2182b'; violet = '#7b4fa3'
do for [k = 0:1] {
  n = k == 0 ? 4 : 8
  file(name) = sprintf('$data/%s_%d', name, n)
  set lmargin at screen (k == 0 ? 0.095 : 0.58)
  set rmargin at screen (k == 0 ? 0.505 : 0.99)
  set title sprintf('%d workers (small numbers: c / N)', n) font ',13' offset 0, -0.3
  if (k == 0) { set ylabel 'relative error of the sum' offset 1 } else { unset ylabel }
  unset arrow; unset label
  set arrow 1 from 4, graph 0 to 4, graph 1 nohead dt (6, 5) lc rgb grey
  set label 1 'rate 1: no linear protocol' at 3.93, 3e-6 right font ',9' textcolor rgb grey
  set label 2 'sends fewer float32 words' at 3.93, 1.6e-6 right font ',9' textcolor rgb grey
  set label 3 'exact ring, float32' at (k == 0 ? 6.0 : 7.0), 1.3e-5 center font ',10' textcolor rgb '#000000'
  set label 4 'piggyback ring' at 4.1, (k == 0 ? 3.2e-3 : 4.6e-3) left font ',12' textcolor rgb orange
  set label 5 'overlapped' at (k == 0 ? 5.75 : 6.5), (k == 0 ? 1.2e-2 : 1.55e-2) left font ',10' textcolor rgb blue
  set label 6 'cyclic' at (k == 0 ? 4.76 : 5.08), 0.35 left font ',10' textcolor rgb green
  if (k == 0) { set label 7 'the paper' at 4.78, 2.15 left font ',10' textcolor rgb red }
  set label 8 'exact ring,' at (k == 0 ? 3.0 : 3.5), 1.05 center font ',10' textcolor rgb violet
  set label 9 'bfloat16' at (k == 0 ? 3.0 : 3.5), 0.6 center font ',10' textcolor rgb violet
  set label 10 'exact ring,' at (k == 0 ? 3.02 : 3.53), (k == 0 ? 2.3e-3 : 3.1e-3) center font ',10' textcolor rgb violet
  set label 11 'int16 blocks' at (k == 0 ? 3.02 : 3.53), (k == 0 ? 1.3e-3 : 1.75e-3) center font ',10' textcolor rgb violet
  plot file('cyclic') using 1:2 with linespoints pt 9 ps 1.2 lw 1.5 lc rgb green, \
       file('overlapped') using 1:2 with linespoints pt 5 ps 1.1 lw 1.5 lc rgb blue, \
       file('piggyback') using 1:2 with linespoints pt 7 ps 1.5 lw 2.5 lc rgb orange, \
       file('piggyback') using 1:(\$2 * 0.58):(sprintf('%g', \$3)) with labels center font ',8' textcolor rgb orange, \
       file('overlapped') using 1:(\$2 * 1.75):(sprintf('%g', \$3)) with labels center font ',8' textcolor rgb blue, \
       file('quantised') using 1:2 with points pt 13 ps 1.7 lc rgb violet, \
       file('ring') using 1:2 with points pt 11 ps 1.7 lc rgb '#000000', \
       file('paper') using 1:2:3:4 with yerrorbars pt 2 ps 1.5 lw 2 lc rgb red
}
unset multiplot
GNUPLOT
