#include "runtime/converse/answer_reader.h"

#include <algorithm>

namespace predgen {

AnswerReader::AnswerReader(const Tokenizer& tokenizer, SplitMode mode)
    : tokenizer_(tokenizer), text_(tokenizer), splitter_(tokenizer, mode) {}

AnswerReader::Progress AnswerReader::push(TokenSpan tokens) {
  Progress progress;
  const TokenIds& stops = tokenizer_.stop_tokens();
  for (const TokenId token : tokens) {
    if (std::ranges::find(stops, token) != stops.end()) continue;
    progress.text += text_.push(TokenSpan(&token, 1));
    if (auto sentence = splitter_.push(token)) progress.sentences.push_back(std::move(*sentence));
  }
  return progress;
}

AnswerReader::Progress AnswerReader::finish() {
  Progress progress{.text = text_.finish(), .sentences = {}};
  if (auto sentence = splitter_.finish()) progress.sentences.push_back(std::move(*sentence));
  return progress;
}

}  // namespace predgen
