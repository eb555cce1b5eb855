#include "core/setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <type_traits>

#include "core/config.h"
#include "core/error.h"

namespace predgen {
namespace {

/// A text without quotes, where YAML has no other use for it.
std::string bare(const std::string& text) {
  const bool is_plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                        text.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") ==
                            std::string::npos;
  return is_plain && text != "true" && text != "false" && text != "null" ? text : quoted_yaml(text);
}

template <typename T>
std::string range_of(const Bounds<T>& bounds) {
  const bool has_lowest = bounds.lowest > std::numeric_limits<T>::lowest();
  const bool has_highest = bounds.highest < std::numeric_limits<T>::max();
  if (has_lowest && has_highest) return fmt::format("{} to {}", bounds.lowest, bounds.highest);
  if (has_lowest) return fmt::format("at least {}", bounds.lowest);
  return has_highest ? fmt::format("at most {}", bounds.highest) : "";
}

template <typename T>
void read_number(ConfigReader& reader, const std::string& name, const Setting::Number<T>& number) {
  if (number.value != nullptr) {
    return reader.optional(name, *number.value, number.bounds.lowest, number.bounds.highest);
  }
  if (!reader.has(name)) return;
  T value{};
  reader.optional(name, value, number.bounds.lowest, number.bounds.highest);
  *number.maybe = value;
}

void read_word(ConfigReader& reader, const std::string& name, const Setting::Word& word) {
  std::vector<std::pair<std::string, size_t>> choices;
  for (const std::string& choice : word.names) choices.emplace_back(choice, choices.size());
  size_t index = word.get();
  reader.choice(name, index, choices);
  if (index < choices.size()) word.set(index);
}

void read(ConfigReader& reader, const Setting& setting) {
  const std::string& name = setting.name;
  std::visit(
      Overloaded{
          [&]<typename T>(const Setting::Number<T>& number) { read_number(reader, name, number); },
          [&](uint64_t* value) {  // written as a signed number that is not negative
            auto given = static_cast<int64_t>(*value);
            reader.optional(name, given, int64_t{0}, std::numeric_limits<int64_t>::max());
            *value = static_cast<uint64_t>(given);
          },
          [&](std::optional<std::string>* value) {
            std::string text;
            if (!reader.has(name)) return;
            reader.optional(name, text);
            *value = text;
          },
          [&](const Setting::Word& word) { read_word(reader, name, word); },
          [&](const Setting::Special& special) { special.read(reader); },
          [&](const Settings& section) {
            ConfigReader inner = reader.section(name);
            read_settings(inner, section);
          },
          [&]<typename T>(T* value) {
            setting.is_needed ? reader.required(name, *value) : reader.optional(name, *value);
          }},
      setting.place);
}

}  // namespace

Setting::Setting(std::string called, std::string& value, const std::vector<std::string>& words,
                 std::string meaning)
    : Setting(
          std::move(called),
          Word{.names = words,
               .get =
                   [&value, words] {
                     return static_cast<size_t>(std::ranges::find(words, value) - words.begin());
                   },
               .set = [&value, words](size_t index) { value = words.at(index); }},
          std::move(meaning)) {}

Setting Setting::needed() const {
  Setting setting = *this;
  setting.is_needed = true;
  return setting;
}

Setting Setting::must(std::function<bool()> holds, std::string why) const {
  return checked(
      [holds = std::move(holds), why = std::move(why)] { return holds() ? std::string() : why; });
}

Setting Setting::checked(std::function<std::string()> problem) const {
  Setting setting = *this;
  setting.checks.push_back(std::move(problem));
  return setting;
}

Setting Setting::as(std::string flag_names) const {
  Setting setting = *this;
  setting.flag = std::move(flag_names);
  return setting;
}

std::string Setting::flag_names() const {
  if (!flag.empty()) return flag;
  std::string names = "--" + name;
  std::ranges::replace(names, '_', '-');
  return names;
}

std::string Setting::value() const {
  return std::visit(
      Overloaded{[]<typename T>(const Number<T>& number) -> std::string {
                   if (number.value != nullptr) return value_yaml(*number.value);
                   return *number.maybe ? value_yaml(**number.maybe) : "null";
                 },
                 [](const std::optional<std::string>* text) {
                   return *text ? bare(**text) : std::string("null");
                 },
                 [](const std::string* text) { return bare(*text); },
                 [](const std::filesystem::path* path) { return bare(path->string()); },
                 [](const Word& word) {
                   const size_t index = word.get();
                   return index < word.names.size() ? word.names[index] : std::string("null");
                 },
                 [](const Special& special) { return special.value; },
                 [](const Settings&) { return std::string(); },
                 []<typename T>(const std::vector<T>* list) {
                   if constexpr (std::is_same_v<T, std::string>) {
                     std::vector<std::string> texts;
                     for (const std::string& text : *list) texts.push_back(bare(text));
                     return fmt::format("[{}]", fmt::join(texts, ", "));
                   } else {
                     return value_yaml(*list);
                   }
                 },
                 []<typename T>(const T* value) { return value_yaml(*value); }},
      place);
}

std::string Setting::range() const {
  return std::visit(
      Overloaded{[]<typename T>(const Number<T>& number) { return range_of(number.bounds); },
                 [](const Word& word) { return fmt::format("{}", fmt::join(word.names, ", ")); },
                 [](const auto&) { return std::string(); }},
      place);
}

void read_settings(ConfigReader& reader, const Settings& settings) {
  for (const Setting& setting : settings) read(reader, setting);
  check_settings(reader, settings);
}

void check_settings(ConfigReader& reader, const Settings& settings) {
  for (const Setting& setting : settings) {
    for (const auto& check : setting.checks) {
      const std::string problem = check();
      if (problem.empty()) continue;
      reader.problem(setting.name, problem);
      break;
    }
  }
}

Settings only(const Settings& settings, const std::vector<std::string>& names) {
  Settings chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(settings, name, &Setting::name);
    PREDGEN_CHECK(found != settings.end(), "there is no setting {}", name);
    chosen.push_back(*found);
  }
  return chosen;
}

Settings together(std::vector<Settings> lists) {
  Settings all;
  for (Settings& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Settings unchecked(Settings settings) {
  for (Setting& setting : settings) setting.checks.clear();
  return settings;
}

Settings unbounded(Settings settings) {
  for (Setting& setting : settings) {
    if (auto* whole = std::get_if<Setting::Number<int64_t>>(&setting.place)) whole->bounds = {};
    if (auto* number = std::get_if<Setting::Number<double>>(&setting.place)) number->bounds = {};
  }
  return settings;
}

Settings flagged(const Settings& settings) {
  Settings found;
  for (const Setting& setting : settings) {
    if (const auto* section = std::get_if<Settings>(&setting.place)) {
      for (const Setting& inner : flagged(*section)) found.push_back(inner);
    } else if (!setting.flag.empty()) {
      found.push_back(setting);
    }
  }
  return found;
}

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
