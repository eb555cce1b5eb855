#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace predgen {

/// Separates the messages of an answer in OpenAI's harmony format (gpt-oss), which follows
/// "<|start|>assistant": thoughts are those of the channel "analysis" and calls of tools that are
/// no functions; the others are said. A call of a function is said as kCall, its name, kMessage and
/// the arguments. Text without channels is said as it is.
class ChannelParser {
 public:
  static constexpr std::string_view kCall = "<|channel|>commentary to=functions.",
                                    kMessage = "<|message|>";

  struct Pieces {
    std::string said{}, thought{};
  };
  /// What is certain by now, of text that arrives in arbitrary pieces.
  Pieces push(std::string_view text);
  /// The answer is over.
  Pieces finish();

  bool is_in_thought() const { return kind_ == Kind::kThought; }
  static bool is_marker(std::string_view token);

 private:
  enum class Kind { kHeader, kThought, kText, kFunction };
  /// Takes something from the front of held_; false: waits for more.
  bool read_header(Pieces& pieces, bool is_over);
  bool read_body(Pieces& pieces, bool is_over);
  void begin(Kind kind, std::string_view name, Pieces& pieces);
  void add(std::string_view text, Pieces& pieces);

  Kind kind_ = Kind::kHeader;  // of the message under way
  std::string held_;           // not decided yet
  bool is_empty_ = true;       // the message under way has no text yet
  bool has_said_ = false, has_thought_ = false;
};

/// Where an answer begins. kText: in a text that has no thoughts, whatever its marks. kThought:
/// within a thought, which the prompt has begun. kChannels: of messages that have channels
/// (ChannelParser).
enum class AnswerStart { kText, kAnswer, kThought, kChannels };

/// How the answer to a chat's rendered prompt begins: its last tokens may begin a thought, or a
/// message of an assistant with channels.
AnswerStart answer_start(const Tokenizer& tokenizer, TokenSpan prompt);

/// Separates what a model thinks (<think>..</think> and the like) from what it says; the text
/// arrives in arbitrary pieces. A thought begins at the beginning of the answer or of a line, or
/// after a sentence: elsewhere its mark is spoken of. One that is not closed goes on to the end.
/// White space around thoughts, and at the end of their text, is dropped.
class ThoughtParser {
 public:
  explicit ThoughtParser(AnswerStart start = AnswerStart::kAnswer);

  /// What is certain by now.
  using Pieces = ChannelParser::Pieces;
  Pieces push(std::string_view text);
  /// The answer is over.
  Pieces finish();

  bool is_in_thought() const { return channels_ ? channels_->is_in_thought() : !closing_.empty(); }
  /// Whether a token only marks thoughts, or channels where there are some: the parser must be
  /// given its text, even where other texts omit it.
  bool is_marker(std::string_view token) const;

 private:
  /// Takes something from the front of held_; false: waits for more.
  bool read_text(Pieces& pieces, bool is_over);
  bool read_thought(Pieces& pieces, bool is_over);
  void read(Pieces& pieces, bool is_over);
  void say(size_t size, Pieces& pieces);
  /// Whether a thought may begin after `before`, which follows what was said.
  bool may_begin(std::string_view before) const;

  std::optional<ChannelParser> channels_;  // which then does it all
  bool has_thoughts_;
  std::vector<std::string_view> closing_;  // marks that end the thought under way; empty: none is
  std::string held_;                       // not decided yet
  std::string end_;                        // of what was said
  bool is_after_thought_ = false;          // and nothing was said since
  bool has_thought_ = false;               // in the thoughts so far there is text
  bool begins_thought_ = true;             // the thought under way has no text yet
};

/// Each of which ends a thought.
std::vector<std::string> closing_thought_marks();

/// `text` without thoughts, for a voice: also without those that are closed but not begun.
std::string without_thoughts(std::string_view text);

}  // namespace predgen
