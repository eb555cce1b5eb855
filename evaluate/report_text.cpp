#include <fmt/format.h>

#include <algorithm>

#include "evaluate/at_path.h"
#include "evaluate/method_table.h"
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
    const auto margin = number_at(flip, {"margin"});
    line += fmt::format(" {} (turn {}, token {})", margin ? fmt::format("{:.4f}", *margin) : "–",
                        flip["turn"].dump(), flip["token"].dump());
  }
  return line + '\n';
}

/// Of a run, or of its unseen turns.
std::string methods_text(const Json& run) {
  const TextTable table = method_table(run);
  size_t width = 16;
  for (const auto& row : table.rows) width = std::max(width, row.front().size());
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += fmt::format("{:<{}}", cells.front(), width);
    for (size_t i = 1; i < cells.size(); ++i) text += fmt::format(" {:>11}", cells[i]);
    text += '\n';
  };
  line(table.head);
  for (const auto& row : table.rows) line(row);
  return text;
}

/// Empty for a set without categories.
std::string categories_text(const Json& run) {
  const TextTable table = category_table(run);
  if (table.rows.empty()) return "";
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += fmt::format("\n{:<20} {:>5}", cells[0], cells[1]);
    for (size_t i = 2; i < cells.size(); ++i) text += fmt::format(" {:>11}", cells[i]);
  };
  line(table.head);
  for (const auto& row : table.rows) line(row);
  return text + '\n';
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
  std::string table = run_title(run) + '\n' + methods_text(run) + categories_text(run);
  for (const auto& [name, method] : run["methods"].items()) {
    table += flips_line(name, at_path(run, {"comparisons", name, "equal_text"}));
  }
  const Json& unseen = at_path(run, {"unseen"});
  if (!unseen.is_null()) table += "\nTurns that the training data lacks:\n" + methods_text(unseen);
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
