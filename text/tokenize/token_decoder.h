#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/regex.h"

namespace predgen {

/// The printable character that stands for `byte` in byte-level vocabularies ("Ġ" for a space).
std::string byte_letter(uint8_t byte);

/// The bytes that a token spells; none if a character is not a byte's letter.
std::optional<std::string> bytes_of_letters(std::string_view token);

/// The "decoder" of tokenizer.json: ByteLevel, or a Sequence of Replace, ByteFallback, Fuse and
/// Strip (of leading spaces) as in sentencepiece vocabularies. Anything else is a UserError that
/// names it. Immutable.
class TokenDecoder {
 public:
  TokenDecoder(const Json& decoder, const std::string& where);

  bool is_byte_level() const { return byte_level_; }
  /// The bytes that a token stands for.
  std::string text_of(std::string_view token) const;
  /// At most how many spaces are dropped at the start of a text.
  size_t num_dropped_spaces() const { return num_dropped_spaces_; }

 private:
  struct Replace {
    Regex pattern;
    std::string content;
  };

  void add(const Json& step, const std::string& where);

  bool byte_level_ = false, byte_fallback_ = false, fused_ = false;
  std::vector<Replace> replacements_;
  size_t num_dropped_spaces_ = 0;
};

/// The byte that a token of the form <0x41> stands for; -1 for any other token.
int fallback_byte(std::string_view token);

}  // namespace predgen
