#include "runtime/speech/sentence_splitter.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {
namespace {

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) + 1 - first));
}

}  // namespace

SentenceSplitter::SentenceSplitter(const Tokenizer& tokenizer, SplitMode mode)
    : tokenizer_(&tokenizer), mode_(mode), text_(tokenizer) {}

std::optional<SentenceSplitter::Sentence> SentenceSplitter::push(TokenId token) {
  text_.push({&token, 1});
  token_ends_.push_back(text_.text().size());
  if (mode_ == SplitMode::kPaper) {
    const bool ends = tokenizer_->decode({&token, 1}).find_first_of(".?!") != std::string::npos;
    if (!ends) return std::nullopt;
    return take(text_.text().size());
  }
  // A token may confirm two ends at once; then both sentences are handed out as one, so that
  // nothing waits for the next token.
  const std::string_view text = text_.text();
  size_t end = begin_;
  while (const auto length = find_sentence_end(text.substr(end), false)) end += *length;
  if (end == begin_) return std::nullopt;
  return take(end);
}

std::optional<SentenceSplitter::Sentence> SentenceSplitter::finish() {
  text_.finish();
  if (!token_ends_.empty()) token_ends_.back() = text_.text().size();
  std::string_view rest = std::string_view(text_.text()).substr(begin_);
  const size_t last = rest.find_last_not_of(" \t\r\n\f\v");
  if (last == std::string_view::npos) return std::nullopt;
  return take(begin_ + last + 1);
}

SentenceSplitter::Sentence SentenceSplitter::take(size_t end) {
  PREDGEN_CHECK(end > begin_ && end <= text_.text().size(), "sentence [{}, {})", begin_, end);
  const auto last = std::lower_bound(token_ends_.begin(), token_ends_.end(), end);
  PREDGEN_CHECK(last != token_ends_.end(), "no token holds byte {}", end);
  Sentence sentence{trimmed(std::string_view(text_.text()).substr(begin_, end - begin_)),
                    last - token_ends_.begin() + 1};
  begin_ = end;
  return sentence;
}

int64_t first_sentence_length(const Tokenizer& tokenizer, SplitMode mode, TokenSpan answer) {
  SentenceSplitter splitter(tokenizer, mode);
  for (const TokenId token : answer) {
    if (const auto sentence = splitter.push(token)) return sentence->num_tokens;
  }
  const TokenIds& stops = tokenizer.stop_tokens();
  const bool over = !answer.empty() && std::ranges::find(stops, answer.back()) != stops.end();
  if (over) {
    if (const auto sentence = splitter.finish()) return sentence->num_tokens;
  }
  return static_cast<int64_t>(answer.size());
}

}  // namespace predgen
