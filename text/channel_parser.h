#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace predgen
