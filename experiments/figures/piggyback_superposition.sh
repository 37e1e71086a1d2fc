#!/bin/sh
# Draws docs/images/piggyback_superposition.png: the messages of one chain, N = 4 and q = 3, and the bits of one word.
#
#   experiments/figures/piggyback_superposition.sh docs/images/piggyback_superposition.png
set -eu

png=${1:-docs/images/piggyback_superposition.png}

gnuplot - <<GNUPLOT
set terminal pngcairo noenhanced size 1300,810 font 'DejaVu Sans,11' background rgb 'white'
set output '$png'
set encoding utf8
unset border; unset tics; unset key
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0
set xrange [-2.2:19.2]
set yrange [1.0:14.3]
array fill_colour[3] = ['#4c8fc8', '#ee9a4d', '#6fb886']
array text_colour[3] = ['#1f6fb4', '#c05500', '#2e7d46']
N = 4; q = 3; full = 1.5; d = 0.55
next_object = 1
# A box over [x, x + 0.86] in group g's colour.
box(x, y, h, g) = sprintf("set object %d rect from %g,%g to %g,%g fc rgb '%s' fs solid 1 border lc rgb 'white'", \
                          next_object, x, y, x + 0.86, y + h, fill_colour[g + 1])

# The exact ring: N - 1 messages with partial sums, N - 1 with the whole sum, group after group.
y0 = 11.0
set label 'Exact ring, group after group: 2 q (N - 1) = 18 messages' at 0, y0 + 2.6 font ',13'
x = 0
do for [g = 0:2] {
  do for [k = 1:3] { eval box(x, y0, full * k / N, g); next_object = next_object + 1; x = x + 1 }
  do for [k = 1:3] { eval box(x, y0, full, g); next_object = next_object + 1; x = x + 1 }
  set label sprintf('partial sums') at 6 * g + 1.43, y0 + 1.95 center font ',9' textcolor rgb text_colour[g + 1]
  set label sprintf('sum S%d handed round', g) at 6 * g + 4.43, y0 + 1.95 center font ',9' textcolor rgb text_colour[g + 1]
}

# The piggyback ring: the partial sums of group g lie, d times smaller, on the messages with the sum of group g - 1.
y1 = 7.1
set label 'Piggyback ring: q N + N - 2 = 14 messages, the partial sums of a group on the sum of the one before it' at 0, y1 + 3.0 font ',13'
do for [t = 1:14] {
  g = (t - 1) / N; w = (t - 1) % N
  x = t - 1
  if (g == 0 || (w == N - 1 && g < q)) {
    eval box(x, y1, full * (w + 1) / N, g); next_object = next_object + 1
  } else {
    eval box(x, y1, full, g - 1); next_object = next_object + 1
    if (g < q) { eval box(x, y1 + full, d * (w + 1) / N, g); next_object = next_object + 1 }
  }
  set label sprintf('%d', t) at x + 0.43, y1 - 0.3 center font ',9' textcolor rgb '#555555'
  set label (t > 12 ? '-' : sprintf('%d', w)) at x + 0.43, y1 - 0.75 center font ',9' textcolor rgb '#555555'
  if (w == N - 1) { set label (g == 0 ? 'M0' : sprintf('M%d = (r - M%d)/d + b%d', g, g - 1, g)) at x + 0.43, y1 + full + 0.55 center font ',9' textcolor rgb text_colour[g + 1] }
}
set label 'round' at -0.25, y1 - 0.3 right font ',9' textcolor rgb '#555555'
set label 'role w' at -0.25, y1 - 0.75 right font ',9' textcolor rgb '#555555'
set label 'M0 + d (partial sum)' at 5.43, y1 + full + 0.95 center font ',9' textcolor rgb text_colour[2]
set label 'M1 + d (partial sum)' at 9.43, y1 + full + 0.95 center font ',9' textcolor rgb text_colour[3]
set label 'M2' at 12.93, y1 + full + 0.3 center font ',9' textcolor rgb text_colour[3]

# One word: 24 bits of mantissa, d = 2^-11.
y2 = 4.3
u = 0.27
bits(x, y, n, colour) = sprintf("do for [b = 0:%d] { set object next_object rect from %g + b * u, %g to %g + (b + 0.88) * u, %g \
  fc rgb '%s' fs solid 1 noborder; next_object = next_object + 1 }", n - 1, x, y, x, y + 0.42, colour)
set label 'One word of such a message: 24 bits of mantissa, d = 2⁻¹¹' at 0, y2 + 0.9 font ',13'
eval bits(0, y2 - 0.4, 24, fill_colour[1])
set label 'M0, to its last bit' at 24 * u + 0.15, y2 - 0.19 font ',10'
eval bits(11 * u, y2 - 1.1, 24, fill_colour[2])
set label 'd times the partial sum: 11 places further down' at 35 * u + 0.15, y2 - 0.89 font ',10'
eval bits(0, y2 - 2.0, 11, fill_colour[1])
eval bits(11 * u, y2 - 2.0, 13, '#9d8f8a')
set label 'sent: rounded after 24 bits. Everyone reads M0 with an error of about 2⁻¹¹, most of it predictable' at 24 * u + 0.15, y2 - 1.79 font ',10'
eval bits(11 * u, y2 - 2.7, 13, fill_colour[2])
set label 'the leader takes off the M0 that it has kept: the partial sum, with an error of 2⁻²⁴ / 2⁻¹¹ = 2⁻¹³' at 24 * u + 0.15, y2 - 2.49 font ',10'
set label 'M0' at -0.25, y2 - 0.19 right font ',10' textcolor rgb text_colour[1]
set label 'd F1' at -0.25, y2 - 0.89 right font ',10' textcolor rgb text_colour[2]
set label 'M0 + d F1' at -0.25, y2 - 1.79 right font ',10'
set label 'r - M0' at -0.25, y2 - 2.49 right font ',10' textcolor rgb text_colour[2]
set arrow from 24 * u - 0.02, y2 + 0.15 to 24 * u - 0.02, y2 - 2.85 nohead dt (5, 4) lc rgb '#777777'
plot NaN notitle
GNUPLOT
