#include "cli/trace_html.h"

#include "cli/trace_json.h"
#include "cli/trace_page.h"

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cerar::cli {
namespace {

constexpr std::int64_t most_page_terms = std::int64_t{1} << 18;

void replace_once(std::string& text, std::string_view mark, std::string_view with) {
  const std::size_t place = text.find(mark);
  if (place == std::string::npos) {
    throw std::logic_error(fmt::format("trace page: {} is missing", mark));
  }
  text.replace(place, mark.size(), with);
}

/// JSON that may stand inside <script>: no "<", so that nothing in it can end the element.
std::string script_safe(std::string json) {
  for (std::size_t place = json.find('<'); place != std::string::npos; place = json.find('<', place)) {
    json.replace(place, 1, "\\u003c");
  }
  return json;
}

}  // namespace

std::string trace_page(const Trace& trace, std::int64_t worker, const Code* code) {
  const RingShape& shape = trace.shape;
  if (shape.workers > most_page_workers || shape.workers * shape.workers * shape.rounds() > most_page_terms) {
    throw std::invalid_argument(fmt::format(
        "a page of {} workers and {} rounds would be too large to look at; draw a smaller ring, up to {} workers "
        "and {} terms N^2 L: its rounds follow the same pattern",
        shape.workers, shape.rounds(), most_page_workers, most_page_terms));
  }
  nlohmann::ordered_json json = trace_json(trace, std::nullopt, code);
  json["selected_worker"] = worker;
  std::string page(page::trace_html);
  replace_once(page, "/*style*/", page::trace_css);
  replace_once(page, "/*ring*/", page::trace_ring_js);
  replace_once(page, "/*panel*/", page::trace_panel_js);
  replace_once(page, "/*player*/", page::trace_player_js);
  replace_once(page, "/*data*/", script_safe(json.dump()));
  return page;
}

}  // namespace cerar::cli
