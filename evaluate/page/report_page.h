#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// A self-contained page from a results.json, which may lack keys.
std::string format_report_page(const Json& report);

/// Each of its pictures as a file: name without the folder, contents.
std::vector<std::pair<std::string, std::string>> report_figure_files(const Json& report);

/// Writes the page to `file` and the pictures into figures/ beside it. Pictures of an older
/// report with other names stay.
void write_report_page(const Json& report, const std::filesystem::path& file);

/// Makes the page again from `run`, the output folder of an evaluation or its results.json; an
/// empty `file`: report.html beside it. Returns the file. UserError if it is not a results.json.
std::filesystem::path write_report_page_of(const std::filesystem::path& run,
                                           const std::filesystem::path& file);

}  // namespace predgen::evaluate
