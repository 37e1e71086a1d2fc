#pragma once

#include <string_view>

/// The parts of the page that `cerar trace --html` writes: the files of cli/trace_page/, embedded by CMake as they are.
namespace cerar::cli::page {

extern const std::string_view trace_html;
extern const std::string_view trace_css;
extern const std::string_view trace_ring_js;
extern const std::string_view trace_panel_js;
extern const std::string_view trace_player_js;

}  // namespace cerar::cli::page
