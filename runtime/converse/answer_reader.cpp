#include "runtime/converse/answer_reader.h"

#include <algorithm>
#include <iterator>

#include "text/stop_tokens.h"

namespace predgen {

AnswerReader::AnswerReader(const Tokenizer& tokenizer, SplitMode mode)
    : tokenizer_(tokenizer), splitter_(tokenizer, mode) {}

AnswerReader::Progress AnswerReader::push(TokenSpan tokens) {
  Progress progress;
  for (const TokenId token : tokens) {
    if (is_stop_token(tokenizer_.stop_tokens(), token)) continue;
    std::ranges::move(splitter_.push(token), std::back_inserter(progress.sentences));
    progress.text += splitter_.added_text();
  }
  return progress;
}

AnswerReader::Progress AnswerReader::finish() {
  Progress progress{.sentences = splitter_.finish()};
  progress.text = splitter_.added_text();
  return progress;
}

}  // namespace predgen
