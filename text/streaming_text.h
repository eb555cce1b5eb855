#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace predgen {

/// Joins generated tokens into text, holding back bytes that do not yet form a UTF-8 character.
/// Borrows the tokenizer.
class StreamingText {
 public:
  explicit StreamingText(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that became complete with these tokens; may be empty.
  std::string push(TokenSpan tokens);
  /// Appends text that is already decoded.
  void append(std::string_view text) { text_ += text; }
  /// What is left at the end; ill-formed bytes become U+FFFD.
  std::string finish();
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
