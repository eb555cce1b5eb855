#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/sentence/sentence_splitter.h"
#include "text/tokenizer.h"

namespace predgen {

/// Follows an answer from its first token: text and sentences. Stop tokens belong to neither.
/// Borrows the tokenizer.
class AnswerReader {
 public:
  AnswerReader(const Tokenizer& tokenizer, SplitMode mode);

  /// What these tokens completed.
  struct Progress {
    std::string text{};
    std::vector<SentenceSplitter::Sentence> sentences{};
  };
  Progress push(TokenSpan tokens);
  /// The answer is over.
  Progress finish();

  const std::string& text() const { return splitter_.text(); }

 private:
  const Tokenizer& tokenizer_;
  SentenceSplitter splitter_;
};

}  // namespace predgen
