#include "text/tokenize/byte_alphabet.h"

#include <array>

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

}  // namespace predgen
