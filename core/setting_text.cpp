#include "core/setting_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace predgen {
namespace {

constexpr size_t kCommentColumn = 30, kPageWidth = 118;  // of a YAML file

std::string one_line(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

/// The words that it may be, or the bounds of a number, unless the help has them or says enough.
std::string missing_range(const Setting& setting) {
  const auto* word = std::get_if<Setting::Word>(&setting.place);
  if (word == nullptr) return setting.help.empty() ? setting.range() : "";
  const bool has_all = std::ranges::all_of(word->names, [&](const std::string& name) {
    return setting.help.find(name) != std::string::npos;
  });
  if (has_all) return "";
  return setting.range() + (setting.help.empty() ? "" : ": ");
}

/// `text` in lines that fit beside `column` characters.
std::vector<std::string> lines_of(const std::string& text, size_t column) {
  std::vector<std::string> lines{""};
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && column + lines.back().size() + 1 + word.size() > kPageWidth) {
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

void add_yaml(std::string& text, const Settings& settings, const std::string& indent) {
  for (const Setting& setting : settings) {
    const auto* section = std::get_if<Settings>(&setting.place);
    std::string line = indent + setting.name + ":" + (section ? "" : " " + setting.value());
    const size_t column = std::max(kCommentColumn, line.size() + 1) + 2;
    for (const std::string& comment :
         lines_of(missing_range(setting) + one_line(setting.help), column)) {
      if (!comment.empty()) {
        line = fmt::format("{:<{}}{}# {}", line, kCommentColumn,
                           line.size() < kCommentColumn ? "" : " ", comment);
      }
      text += line + "\n";
      line.clear();
    }
    if (section) add_yaml(text, *section, indent + "  ");
  }
}

/// Fit for a cell of a table.
std::string cell(const std::string& whole) {
  std::string text = one_line(whole);
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

void add_rows(std::string& text, const Settings& settings, const std::string& prefix) {
  for (const Setting& setting : settings) {
    const std::string name = prefix + setting.name;
    if (const auto* section = std::get_if<Settings>(&setting.place)) {
      add_rows(text, *section, name + ".");
      continue;
    }
    const std::string flag = setting.flag.empty() ? "" : fmt::format(", `{}`", setting.flag);
    const std::string value = setting.is_needed           ? "must be given"
                              : setting.value() == "null" ? "absent"
                                                          : fmt::format("`{}`", setting.value());
    text += fmt::format("| `{}`{} | {} | {} | {} |\n", name, flag, cell(value),
                        cell(setting.range()), cell(setting.help));
  }
}

}  // namespace

std::string settings_table(const Settings& settings) {
  std::string text = "| setting | default | values | meaning |\n| --- | --- | --- | --- |\n";
  add_rows(text, settings, "");
  return text;
}

std::string settings_yaml(const Settings& settings) {
  std::string text;
  add_yaml(text, settings, "");
  return text;
}

}  // namespace predgen
