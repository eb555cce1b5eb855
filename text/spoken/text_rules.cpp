#include "text/spoken/text_rules.h"

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

}  // namespace predgen
