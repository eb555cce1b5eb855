#include <fmt/format.h>

#include <algorithm>

#include "evaluate/page/method_columns.h"
#include "evaluate/page/run_view.h"
#include "evaluate/report.h"

namespace predgen::evaluate {
namespace {

std::string quote_csv(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string quoted(1, '"');
  for (const char c : value.get<std::string>()) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

/// Which texts of a method that verifies exactly differ, and how close the choice was.
std::string flips_line(const std::string& name, const Json& equal) {
  const Json& flips = at_path(equal, {"flips"});
  if (flips.is_null() || flips.empty()) return "";
  std::string line = fmt::format(
      "{}: {} of {} texts differ from those of {}; there the two likeliest logits of plain "
      "decoding are "
      "apart by",
      name, flips.size(), equal["n"].dump(), equal["against"].get<std::string>());
  for (const Json& flip : flips) {
    line += fmt::format(" {} (turn {}, token {})", fixed(number_at(flip, {"margin"}), 4),
                        flip["turn"].dump(), flip["token"].dump());
  }
  return line + '\n';
}

/// Of a run, or of its unseen turns.
std::string methods_table(const Json& run) {
  const std::vector<MethodColumn> shown = method_columns(run);
  size_t width = 16;
  for (const auto& [name, method] : run["methods"].items()) width = std::max(width, name.size());
  std::string table = fmt::format("{:<{}}", "method", width);
  for (const MethodColumn& column : shown) table += fmt::format(" {:>11}", column.title);
  table += '\n';
  for (const auto& [name, method] : run["methods"].items()) {
    table += fmt::format("{:<{}}", name, width);
    for (const MethodColumn& column : shown) {
      table += fmt::format(" {:>11}", column.cell(method, at_path(run, {"comparisons", name})));
    }
    table += '\n';
  }
  return table;
}

/// Empty for a set without categories.
std::string category_table(const Json& methods) {
  const Json& first = at_path(methods.front(), {"accuracy", "by_category"});
  if (first.is_null()) return "";
  std::string table = fmt::format("\n{:<20} {:>5}", "accuracy % in", "turns");
  for (const auto& [name, method] : methods.items()) table += fmt::format(" {:>11}", name);
  table += '\n';
  for (const auto& [category, share] : first.items()) {
    table += fmt::format("{:<20} {:>5}", category, share["n"].dump());
    for (const Json& method : methods) {
      table += fmt::format(" {:>11}", share_cell(method["accuracy"]["by_category"][category]));
    }
    table += '\n';
  }
  return table;
}

/// Empty without training data.
std::string overlap_line(const Json& report) {
  const Json& seen = at_path(report, {"training_overlap"});
  if (seen.is_null()) return "";
  return fmt::format(
      "\n{} of {} turns stand in the training data word for word, {} but for case and "
      "punctuation.\n",
      seen["exact"].dump(), report["num_turns"].dump(), seen["normalised"].dump());
}

std::string run_table(const Json& run) {
  std::string table = run_title(run) + '\n' + methods_table(run) + category_table(run["methods"]);
  for (const auto& [name, method] : run["methods"].items()) {
    table += flips_line(name, at_path(run, {"comparisons", name, "equal_text"}));
  }
  const Json& unseen = at_path(run, {"unseen"});
  if (!unseen.is_null()) table += "\nTurns that the training data lacks:\n" + methods_table(unseen);
  return table;
}

}  // namespace

std::string format_table(const Json& report) {
  std::string tables;
  for (const Json& run : report["runs"]) {
    tables += (tables.empty() ? "" : "\n") + run_table(run);
  }
  const std::string heard = heard_line(report);
  if (!heard.empty()) tables += "\n" + heard + "\n";
  return tables + overlap_line(report);
}

std::string format_csv(const Json& report) {
  std::string csv;
  const auto line = [&](const Json& row, bool names) {
    std::string text;
    for (const auto& [key, value] : row.items()) {
      if (key == "token_ids") continue;
      if (!text.empty()) text += ',';
      text += quote_csv(names ? Json(key) : value);
    }
    csv += text;
    csv += "\r\n";
  };
  for (const Json& row : report["turns"]) {
    if (csv.empty()) line(row, true);
    line(row, false);
  }
  return csv;
}

}  // namespace predgen::evaluate
