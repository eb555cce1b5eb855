#include "runtime/converse/answer_reader.h"

#include <algorithm>
#include <iterator>

namespace predgen {

AnswerReader::AnswerReader(const Tokenizer& tokenizer, SplitMode mode)
    : tokenizer_(tokenizer), text_(tokenizer), splitter_(tokenizer, mode) {}

AnswerReader::Progress AnswerReader::push(TokenSpan tokens) {
  Progress progress;
  const TokenIds& stops = tokenizer_.stop_tokens();
  for (const TokenId token : tokens) {
    if (std::ranges::find(stops, token) != stops.end()) continue;
    progress.text += text_.push(TokenSpan(&token, 1));
    std::ranges::move(splitter_.push(token), std::back_inserter(progress.sentences));
  }
  return progress;
}

AnswerReader::Progress AnswerReader::finish() {
  return {.text = text_.finish(), .sentences = splitter_.finish()};
}

}  // namespace predgen
