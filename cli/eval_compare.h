#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace predgen::cli {

/// `predgen eval --compare A B`: two results of the same set, and how much worse B may be.
struct EvalCompareOptions {
  std::vector<std::string> results;  // folders or files; empty: no comparison
  std::string max_slower, max_more_passes, min_equal_text;  // "3%"
  void add_to(CLI::App& command);
};

/// Prints the comparison. UserError for what cannot be compared; ends with exit code 1 if a bound
/// is crossed.
void compare_results(const EvalCompareOptions& options, bool json);

}  // namespace predgen::cli
