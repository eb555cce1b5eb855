#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/sentence/sentence_splitter.h"
#include "text/streaming_text.h"
#include "text/tokenizer.h"
#include "text/tools/tool_call_parser.h"

namespace predgen {

/// Follows an answer from its first token: text, sentences, and calls of functions. Stop tokens
/// belong to none, and what a call is written as is no text. Borrows the tokenizer.
class AnswerReader {
 public:
  /// `tool_names`: the functions that may be called; none: all is text.
  AnswerReader(const Tokenizer& tokenizer, SplitMode mode,
               const std::vector<std::string>& tool_names = {});

  /// What these tokens completed.
  struct Progress {
    std::string text{};  // what looks like a call and is none, too, but in no sentence
    std::vector<SentenceSplitter::Sentence> sentences{};
    std::vector<ToolCall> calls{};
  };
  Progress push(TokenSpan tokens);
  /// The answer is over.
  Progress finish();

  const std::string& text() const { return text_; }
  /// Tokens in front of the first call, or of what may be one; nothing: there is none.
  std::optional<int64_t> call_begin() const { return call_begin_; }

 private:
  void push_with_calls(TokenId token, Progress& progress);
  /// Returns what of them is said.
  std::string take(std::vector<ToolCallParser::Part> parts, Progress& progress);

  const Tokenizer& tokenizer_;
  SentenceSplitter splitter_;
  StreamingText tokens_;                  // as text, where calls may be in it
  std::optional<ToolCallParser> parser_;  // nothing: no function may be called
  std::string text_;
  int64_t num_tokens_ = 0;
  std::optional<int64_t> call_begin_;
};

}  // namespace predgen
