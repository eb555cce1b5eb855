#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace predgen::evaluate {

/// A self-contained page that draws a results.json with its figure values (complete_report()).
/// Other keys may be missing.
std::string format_report_page(Json report);

/// Makes the page again from `run`, the output folder of an evaluation or its results.json; an
/// empty `file`: report.html beside it. Returns the file. UserError if it is not a results.json.
std::filesystem::path write_report_page_of(const std::filesystem::path& run,
                                           const std::filesystem::path& file);

}  // namespace predgen::evaluate
