#include "text/spoken/text_rules.h"

#include <algorithm>

#include "text/utf8.h"

namespace predgen {

Regex speech_pattern(std::string_view source) {
  return Regex(std::string(source), Regex::Syntax::kPattern, "text for speech");
}

TextRules::TextRules(std::initializer_list<Rule> rules) {
  for (const Rule& rule : rules) {
    rules_.push_back({.regex = speech_pattern(rule.pattern), .replacement = rule.replacement});
  }
}

std::string TextRules::apply(std::string_view text) const {
  std::string result(text);
  for (const Compiled& rule : rules_) result = rule.regex.replace_all(result, rule.replacement);
  return result;
}

std::string replace_each(
    const Regex& regex, std::string_view text,
    const std::function<std::string(std::string_view match, std::string_view rest)>& replace) {
  std::string result;
  size_t end = 0;
  Regex::Match match;
  while (regex.find(text, end, match)) {
    result.append(text, end, match.begin - end);
    result += replace(text.substr(match.begin, match.end - match.begin), text.substr(match.end));
    end = match.end;
  }
  return result.append(text, end);
}

bool begins_with(std::string_view text, size_t bytes, const Regex& pattern) {
  text = text.substr(0, bytes);
  Regex::Match match;
  return pattern.find(text.substr(0, complete_utf8_length(text)), 0, match);
}

bool ends_with(std::string_view text, size_t bytes, const Regex& pattern) {
  text = text.substr(text.size() - std::min(text.size(), bytes));
  const auto continues = [](char c) { return (c & 0xC0) == 0x80; };
  while (!text.empty() && continues(text[0])) text.remove_prefix(1);
  Regex::Match match;
  return pattern.find(text, 0, match);
}

}  // namespace predgen
