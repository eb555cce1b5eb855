#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/sentence/sentence_splitter.h"
#include "text/streaming_text.h"
#include "text/tokenizer.h"

namespace predgen {

/// Follows an answer from its first token: text and sentences. Stop tokens belong to neither.
/// Borrows the tokenizer.
class AnswerReader {
 public:
  AnswerReader(const Tokenizer& tokenizer, SplitMode mode);

  /// What these tokens completed.
  struct Progress {
    std::string text;
    std::vector<SentenceSplitter::Sentence> sentences;
  };
  Progress push(TokenSpan tokens);
  /// The answer is over.
  Progress finish();

  const std::string& text() const { return text_.text(); }

 private:
  const Tokenizer& tokenizer_;
  StreamingText text_;
  SentenceSplitter splitter_;
};

}  // namespace predgen
