#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace predgen {

/// The length of the text's end that may be the beginning of `mark`, but is not all of it.
inline size_t begun(std::string_view text, std::string_view mark) {
  size_t size = std::min(mark.size() - 1, text.size());
  while (!text.ends_with(mark.substr(0, size))) --size;
  return size;
}

/// Whether `text` begins with `mark`, or may once more text arrives.
inline bool may_begin(std::string_view text, std::string_view mark) {
  return text.starts_with(mark) || mark.starts_with(text);
}

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
