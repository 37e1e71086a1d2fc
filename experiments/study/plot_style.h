#pragma once

#include <array>
#include <string>

namespace cerar {

/// Okabe and Ito's colours, which readers with any colour vision tell apart.
inline constexpr std::array<const char*, 7> plot_colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                         "#E69F00", "#56B4E9", "#555555"};

/// Axes, grid and key of the studies' pictures: logarithmic both ways, decades written as powers of ten.
[[nodiscard]] inline std::string log_log_style() {
  return "set encoding utf8\nset datafile missing 'NaN'\nset datafile separator whitespace\n"
         "set border 3 lc rgb '#666666'\nset tics nomirror textcolor rgb '#333333'\n"
         "set grid lc rgb '#dddddd' lw 1\nset logscale xy\nset format x '10^{%L}'\nset format y '10^{%L}'\n"
         "set key left top at graph 1.03, graph 1.0 vertical Left reverse spacing 1.25 samplen 2.2\n"
         "set title font ',14'\nset lmargin 11\nset rmargin 46\n";
}

}  // namespace cerar
