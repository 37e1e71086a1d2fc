#pragma once

#include <string>
#include <vector>

namespace cerar::netlab {

/// Runs a program of the system with `input` as its standard input and waits for it.
/// @return what it printed, as one line, if it failed; empty if all went well
[[nodiscard]] std::string run_tool(const std::vector<std::string>& command, const std::string& input);

}  // namespace cerar::netlab
