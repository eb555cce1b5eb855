#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/sentence/sentence_splitter.h"
#include "text/streaming_text.h"
#include "text/thoughts.h"
#include "text/tokenizer.h"
#include "text/tools/tool_call_parser.h"

namespace predgen {

/// Parses an answer from its first token into thoughts, text, sentences and function calls. Stop
/// tokens belong to none of them, and the markup of a thought or a call is not text. Borrows the
/// tokenizer.
class AnswerReader {
 public:
  /// `tools`: the functions that may be called; empty: there are no calls. `start`: answer_start()
  /// of the prompt.
  AnswerReader(const Tokenizer& tokenizer, SplitMode mode, const ToolSet& tools = {},
               AnswerStart start = AnswerStart::kAnswer);

  /// What these tokens completed.
  struct Progress {
    std::string thought{};  // what the model thinks, which is no part of the text
    std::string text{};     // with what only looks like a call; sentences omit that
    std::vector<SentenceSplitter::Sentence> sentences{};
    std::vector<ToolCall> calls{};
  };
  Progress push(TokenSpan tokens);
  /// The answer is over. Without a stop token it was cut: the end of an unfinished character does
  /// not come, so nothing of it is text.
  Progress finish();

  const std::string& text() const { return text_; }
  const std::string& thought() const { return thought_; }
  /// Tokens of thoughts, with those of their marks.
  int64_t num_thought_tokens() const { return num_thought_tokens_; }
  /// The part of it that sentences are made of.
  const std::string& spoken() const { return splitter_.text(); }
  /// Number of tokens before the first (possible) call; nullopt if there is none.
  std::optional<int64_t> call_begin() const { return call_begin_; }

 private:
  /// The text that a token completes, with marks that other texts omit.
  std::string text_of(TokenId token);
  void push(TokenId token, Progress& progress);
  /// Takes what was said, after thoughts; returns the part of it that is spoken.
  std::string take(ThoughtParser::Pieces pieces, Progress& progress);
  std::string take(std::vector<ToolCallParser::Part> parts, Progress& progress);

  const Tokenizer& tokenizer_;
  SentenceSplitter splitter_;
  StreamingText tokens_;  // as text
  ThoughtParser thoughts_;
  std::optional<ToolCallParser> parser_;  // nullopt: no function may be called
  std::string text_, thought_;
  int64_t num_tokens_ = 0, num_thought_tokens_ = 0;
  TextEnd end_ = TextEnd::kCut;  // kWhole: a stop token came
  std::optional<int64_t> call_begin_;
};

}  // namespace predgen
