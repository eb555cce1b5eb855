#include "text/sentence/spoken_opening.h"

#include "core/error.h"
#include "core/text.h"
#include "text/characters.h"

namespace predgen {
namespace {

constexpr int64_t kShortest = 16, kLongest = 120;  // characters, the mark included

bool ends_clause(char32_t code) { return code == ',' || code == ';' || code == ':'; }

bool joins_letters(char32_t code) { return code == '\'' || code == 0x2019 || code == '-'; }

}  // namespace

std::optional<size_t> first_clause_end(std::string_view text) {
  int64_t length = 0;
  char32_t before = ' ';
  for (size_t at = 0; at < text.size() && ++length <= kLongest;) {
    const Character character = character_at(text, at);
    const char32_t code = character.code;
    at += character.length;
    if (ends_clause(code)) {
      // "July 25, 2024" is one date.
      const bool is_end = length >= kShortest && at + 1 < text.size() && text[at] == ' ' &&
                          is_letter(character_at(text, at + 1).code);
      if (is_end) return at;
    } else if (code != ' ' && !is_letter_or_digit(code) &&
               !(joins_letters(code) && is_letter_or_digit(before))) {
      return std::nullopt;  // a quote, a bracket, mark-up, or the sentence's end
    }
    before = code;
  }
  return std::nullopt;
}

std::optional<std::string> SpokenOpening::next_clause(std::string_view answer) {
  if (!has_clauses_ || !clause_.empty()) return std::nullopt;
  const std::string_view text = trimmed(answer);
  const std::optional<size_t> end = first_clause_end(text);
  if (!end) return std::nullopt;
  clause_ = text.substr(0, *end);
  return clause_;
}

std::string SpokenOpening::rest_of(const std::string& sentence) const {
  PREDGEN_CHECK(sentence.starts_with(clause_), "'{}' does not begin with '{}'", sentence, clause_);
  return std::string(trimmed(std::string_view(sentence).substr(clause_.size())));
}

}  // namespace predgen
