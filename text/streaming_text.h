#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace predgen {

/// A text is whole, or it was cut, perhaps within a character, which is then left out.
enum class TextEnd { kWhole, kCut };

/// Joins generated tokens into text, holding back bytes that do not yet form a UTF-8 character.
/// Borrows the tokenizer.
class StreamingText {
 public:
  explicit StreamingText(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that became complete with these tokens; may be empty.
  std::string push(TokenSpan tokens);
  /// Appends text that is already decoded.
  void append(std::string_view text) { text_ += text; }
  /// What is left at the end: mostly nothing, or U+FFFD for the unfinished character of a text that
  /// is whole.
  std::string finish(TextEnd end = TextEnd::kWhole);
  /// Everything returned so far.
  const std::string& text() const { return text_; }

 private:
  const Tokenizer* tokenizer_;
  bool begun_ = false;
  TokenIds first_;       // tokens so far, until they have text
  std::string pending_;  // fewer than four bytes of an unfinished character
  std::string text_;
};

}  // namespace predgen
