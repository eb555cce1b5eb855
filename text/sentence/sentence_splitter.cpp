#include "text/sentence/sentence_splitter.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "text/utf8.h"

namespace predgen {

SentenceSplitter::SentenceSplitter(const Tokenizer& tokenizer, SplitMode mode)
    : tokenizer_(&tokenizer), mode_(mode), text_(tokenizer) {}

std::vector<SentenceSplitter::Sentence> SentenceSplitter::push(TokenId token) {
  text_.push({&token, 1});
  token_ends_.push_back(text_.text().size());
  if (mode_ == SplitMode::kNatural) return take_natural(false);
  std::vector<Sentence> sentences;
  const bool ends = tokenizer_->decode({&token, 1}).find_first_of(".?!") != std::string::npos;
  if (ends) take(text_.text().size(), sentences);
  return sentences;
}

std::vector<SentenceSplitter::Sentence> SentenceSplitter::push_text(std::string_view text) {
  text_.append(text);
  token_ends_.push_back(text_.text().size());
  if (mode_ == SplitMode::kNatural) return take_natural(false);
  std::vector<Sentence> sentences;
  if (text.find_first_of(".?!") != std::string_view::npos) take(text_.text().size(), sentences);
  return sentences;
}

std::vector<SentenceSplitter::Sentence> SentenceSplitter::finish(std::string_view rest) {
  text_.append(rest);
  text_.finish();
  if (!token_ends_.empty()) token_ends_.back() = text_.text().size();
  if (mode_ == SplitMode::kNatural) return take_natural(true);
  std::vector<Sentence> sentences;
  take(std::max(text_.text().find_last_not_of(kAsciiSpace) + 1, begin_), sentences);
  return sentences;
}

std::vector<SentenceSplitter::Sentence> SentenceSplitter::take_natural(bool complete) {
  std::vector<Sentence> sentences;
  while (const auto end = ends_.next(text_.text(), complete)) take(*end, sentences);
  return sentences;
}

void SentenceSplitter::take(size_t end, std::vector<Sentence>& sentences) {
  PREDGEN_CHECK(end >= begin_ && end <= text_.text().size(), "sentence [{}, {})", begin_, end);
  std::string text(trimmed(std::string_view(text_.text()).substr(begin_, end - begin_)));
  begin_ = end;
  if (text.empty()) return;
  const auto last = std::lower_bound(token_ends_.begin(), token_ends_.end(), end);
  PREDGEN_CHECK(last != token_ends_.end(), "no token holds byte {}", end);
  sentences.push_back({std::move(text), last - token_ends_.begin() + 1});
}

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
