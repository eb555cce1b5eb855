#include "evaluate/eval_turn.h"

#include <algorithm>

#include "text/regex.h"

namespace predgen::evaluate {
namespace {

Regex pattern(const char* python) { return Regex(python, Regex::Syntax::kPython, "grading"); }

std::optional<std::string_view> first_match(const Regex& regex, std::string_view text) {
  Regex::Match match;
  if (!regex.find(text, 0, match)) return std::nullopt;
  return text.substr(match.begin, match.end - match.begin);
}

std::optional<std::string_view> last_match(const Regex& regex, std::string_view text) {
  std::optional<std::string_view> last;
  Regex::Match match;
  for (size_t start = 0; regex.find(text, start, match); start = match.end) {
    last = text.substr(match.begin, match.end - match.begin);
  }
  return last;
}

std::optional<std::string_view> find_number(Extraction extraction, std::string_view text) {
  static const Regex marked = pattern(R"(#### -?[0-9.,]+)");
  static const Regex any = pattern(R"((-?[$0-9.,]{2,})|(-?[0-9]+))");
  if (extraction == Extraction::kFlexible) return last_match(any, text);
  const auto match = first_match(marked, text);
  return match ? std::optional(match->substr(5)) : std::nullopt;
}

std::optional<std::string_view> find_letter(Extraction extraction, std::string_view text) {
  static const Regex stated = pattern(R"(answer is \(?[A-J])");
  static const Regex labelled = pattern(R"(.*[aA]nswer:[\s\x1c-\x1f]*[A-J])");
  static const Regex alone = pattern(R"(\b[A-J]\b)");
  auto match = first_match(stated, text);
  if (!match && extraction == Extraction::kFlexible) match = first_match(labelled, text);
  if (!match && extraction == Extraction::kFlexible) match = last_match(alone, text);
  return match ? std::optional(match->substr(match->size() - 1)) : std::nullopt;
}

std::string plain_answer(std::string text) {
  std::erase_if(text, [](char c) { return c == ',' || c == '$'; });
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::optional<std::string> extract_answer(AnswerKind kind, Extraction extraction,
                                          std::string_view answer) {
  answer = answer.substr(0, answer.find("Question:"));
  const auto found = kind == AnswerKind::kNumber ? find_number(extraction, answer)
                                                 : find_letter(extraction, answer);
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

bool is_right(const RightAnswer& right, const std::optional<std::string>& extracted) {
  return extracted && plain_answer(*extracted) == plain_answer(right.text);
}

Grade grade(const RightAnswer& right, std::string_view answer) {
  const auto extracted = extract_answer(right.kind, Extraction::kFlexible, answer);
  return {extracted, is_right(right, extracted),
          is_right(right, extract_answer(right.kind, Extraction::kStrict, answer))};
}

}  // namespace predgen::evaluate
