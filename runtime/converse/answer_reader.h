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

/// Parses an answer from its first token into text, sentences and function calls. Stop tokens
/// belong to none of them, and the markup of a call is not text. Borrows the tokenizer.
class AnswerReader {
 public:
  /// `tool_names`: the functions that may be called; empty: everything is text.
  AnswerReader(const Tokenizer& tokenizer, SplitMode mode,
               const std::vector<std::string>& tool_names = {});

  /// What these tokens completed.
  struct Progress {
    std::string text{};  // with what only looks like a call; sentences omit that
    std::vector<SentenceSplitter::Sentence> sentences{};
    std::vector<ToolCall> calls{};
  };
  Progress push(TokenSpan tokens);
  /// The answer is over.
  Progress finish();

  const std::string& text() const { return text_; }
  /// The part of it that sentences are made of.
  const std::string& spoken() const { return splitter_.text(); }
  /// Number of tokens before the first (possible) call; nullopt if there is none.
  std::optional<int64_t> call_begin() const { return call_begin_; }

 private:
  void push_with_calls(TokenId token, Progress& progress);
  /// Returns the text in them that is spoken.
  std::string take(std::vector<ToolCallParser::Part> parts, Progress& progress);

  const Tokenizer& tokenizer_;
  SentenceSplitter splitter_;
  StreamingText tokens_;                  // as text, if it may contain calls
  std::optional<ToolCallParser> parser_;  // nullopt: no function may be called
  std::string text_;
  int64_t num_tokens_ = 0;
  std::optional<int64_t> call_begin_;
};

}  // namespace predgen
