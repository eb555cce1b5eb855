#include "text/tokenize/token_decoder.h"

#include <array>
#include <charconv>

#include "core/error.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {
namespace {

constexpr int kNumLetters = 0x144;  // code points from 0 to the last letter

struct Alphabet {
  std::array<int, 256> letter_of{};        // byte -> code point
  std::array<int, kNumLetters> byte_of{};  // code point -> byte, -1: not a letter
};

/// Printable Latin-1 bytes stand for themselves; the others get code points from 256 on.
constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int& byte : alphabet.byte_of) byte = -1;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int letter = printable ? byte : next++;
    alphabet.letter_of[static_cast<size_t>(byte)] = letter;
    alphabet.byte_of[static_cast<size_t>(letter)] = byte;
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string byte_letter(uint8_t byte) {
  const int letter = kAlphabet.letter_of[byte];
  if (letter < 0x80) return std::string(1, static_cast<char>(letter));
  return {static_cast<char>(0xC0 | (letter >> 6)), static_cast<char>(0x80 | (letter & 0x3F))};
}

std::optional<std::string> bytes_of_letters(std::string_view token) {
  std::string bytes;
  for (size_t index = 0; index < token.size(); ++index) {
    int letter = static_cast<uint8_t>(token[index]);
    if (letter >= 0x80) {  // every letter has one or two bytes of UTF-8
      if (letter < 0xC2 || letter > 0xDF || ++index == token.size()) return std::nullopt;
      letter = ((letter & 0x1F) << 6) | (static_cast<uint8_t>(token[index]) & 0x3F);
    }
    if (letter >= kNumLetters || kAlphabet.byte_of[static_cast<size_t>(letter)] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(kAlphabet.byte_of[static_cast<size_t>(letter)]);
  }
  return bytes;
}

TokenDecoder::TokenDecoder(const Json& decoder, const std::string& where) {
  if (decoder.is_null()) throw UserError("{}: \"decoder\" null is not supported", where);
  const std::string type = json_get<std::string>(decoder, "type", where);
  if (type == "ByteLevel") {
    byte_level_ = true;
  } else if (type == "Sequence") {
    for (const Json& step : json_get<Json>(decoder, "decoders", where)) add(step, where);
  } else {
    throw UserError("{}: decoder type \"{}\" is not supported (ByteLevel, Sequence)", where, type);
  }
}

void TokenDecoder::add(const Json& step, const std::string& where) {
  const std::string type = json_get<std::string>(step, "type", where);
  if (type == "Replace" && !byte_fallback_ && !fused_) {
    replacements_.push_back(
        {read_pattern(step, where), json_get<std::string>(step, "content", where)});
  } else if (type == "ByteFallback" && !fused_) {
    byte_fallback_ = true;
  } else if (type == "Fuse") {
    fused_ = true;
  } else if (type == "Strip" && fused_ && json_get<std::string>(step, "content", where) == " " &&
             json_get<int64_t>(step, "stop", where) == 0) {
    num_dropped_spaces_ += json_get<size_t>(step, "start", where);
  } else {
    throw UserError(
        "{}: decoder step {} is not supported at its place (Replace, ByteFallback, Fuse, then "
        "Strip "
        "of spaces at the start)",
        where, step.dump());
  }
}

std::string TokenDecoder::text_of(std::string_view token) const {
  if (byte_level_) return bytes_of_letters(token).value_or(std::string(token));
  std::string text(token);
  for (const Replace& replacement : replacements_) {
    text = replacement.pattern.replace_all(text, replacement.content);
    check_growth(text, token);
  }
  const int byte = byte_fallback_ ? fallback_byte(text) : -1;
  return byte < 0 ? text : std::string(1, static_cast<char>(byte));
}

int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = -1;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? byte : -1;
}

}  // namespace predgen
