#include "voice/zonos/symbols.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "text/utf8.h"

namespace predgen {
namespace {

// In order of their ids, from 4 on: the marks, A to Z, a to z, the letters of the International
// Phonetic Alphabet.
constexpr char32_t kPhonemeMarks[] = {U';',   U':',   U',', U'.', U'!', U'?',   0xA1,   0xBF,
                                      0x2014, 0x2026, U'"', 0xAB, 0xBB, 0x201C, 0x201D, U'(',
                                      U')',   U' ',   U'*', U'~', U'-', U'/',   U'\\',  U'&'};
constexpr char32_t kLetters[] = {
    0x0251, 0x0250, 0x0252, 0x00E6, 0x0253, 0x0299, 0x03B2, 0x0254, 0x0255, 0x00E7, 0x0257,
    0x0256, 0x00F0, 0x02A4, 0x0259, 0x0258, 0x025A, 0x025B, 0x025C, 0x025D, 0x025E, 0x025F,
    0x0284, 0x0261, 0x0260, 0x0262, 0x029B, 0x0266, 0x0267, 0x0127, 0x0265, 0x029C, 0x0268,
    0x026A, 0x029D, 0x026D, 0x026C, 0x026B, 0x026E, 0x029F, 0x0271, 0x026F, 0x0270, 0x014B,
    0x0273, 0x0272, 0x0274, 0x00F8, 0x0275, 0x0278, 0x03B8, 0x0153, 0x0276, 0x0298, 0x0279,
    0x027A, 0x027E, 0x027B, 0x0280, 0x0281, 0x027D, 0x0282, 0x0283, 0x0288, 0x02A7, 0x0289,
    0x028A, 0x028B, 0x2C71, 0x028C, 0x0263, 0x0264, 0x028D, 0x03C7, 0x028E, 0x028F, 0x0291,
    0x0290, 0x0292, 0x0294, 0x02A1, 0x0295, 0x02A2, 0x01C0, 0x01C1, 0x01C2, 0x01C3, 0x02C8,
    0x02CC, 0x02D0, 0x02D1, 0x02BC, 0x02B4, 0x02B0, 0x02B1, 0x02B2, 0x02B7, 0x02E0, 0x02E4,
    0x02DE, 0x2193, 0x2191, 0x2192, 0x2197, 0x2198, 0x0027, 0x0329, 0x0027, 0x1D7B};
static_assert(std::size(kPhonemeMarks) == 24 &&
              4 + 24 + 52 + std::size(kLetters) == ZonosSymbols::kCount);

std::map<char32_t, int64_t> number_symbols() {
  std::map<char32_t, int64_t> ids;
  int64_t next = 4;
  for (const char32_t mark : kPhonemeMarks) ids[mark] = next++;
  for (char32_t letter = U'A'; letter <= U'Z'; ++letter) ids[letter] = next++;
  for (char32_t letter = U'a'; letter <= U'z'; ++letter) ids[letter] = next++;
  // The apostrophe occurs twice, and the model was trained with its later id.
  for (const char32_t letter : kLetters) ids[letter] = next++;
  return ids;
}

}  // namespace

int64_t ZonosSymbols::id(char32_t character) {
  static const auto ids = number_symbols();
  const auto found = ids.find(character);
  return found == ids.end() ? kUnknown : found->second;
}

bool ZonosSymbols::is_mark(char32_t character) {
  return std::ranges::find(kPhonemeMarks, character) != std::end(kPhonemeMarks);
}

std::vector<int64_t> phoneme_ids(std::string_view phonemes) {
  std::vector<int64_t> ids{ZonosSymbols::kBegin};
  for (size_t at = 0; at < phonemes.size();) {
    ids.push_back(ZonosSymbols::id(next_character(phonemes, at)));
  }
  ids.push_back(ZonosSymbols::kEnd);
  return ids;
}

}  // namespace predgen
