// The case of letters, as str.upper() and its kin change it.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

struct Codes {
  char32_t first, last;
};

template <typename Table>
bool has(const Table& table, char32_t code) {
  return std::any_of(table.begin(), table.end(), [code](const Codes& codes) {
    return codes.first <= code && code <= codes.last;
  });
}

// All are printed by Python 3.11.
constexpr std::array<Codes, 20> kDigits = {
    {{0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
     {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
     {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
     {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
     {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}}};
constexpr std::array<Codes, 72> kNumericLetters = {
    {{0x3405, 0x3405},   {0x3483, 0x3483},   {0x382A, 0x382A},   {0x3B4D, 0x3B4D},
     {0x4E00, 0x4E00},   {0x4E03, 0x4E03},   {0x4E07, 0x4E07},   {0x4E09, 0x4E09},
     {0x4E5D, 0x4E5D},   {0x4E8C, 0x4E8C},   {0x4E94, 0x4E94},   {0x4E96, 0x4E96},
     {0x4EBF, 0x4EC0},   {0x4EDF, 0x4EDF},   {0x4EE8, 0x4EE8},   {0x4F0D, 0x4F0D},
     {0x4F70, 0x4F70},   {0x5104, 0x5104},   {0x5146, 0x5146},   {0x5169, 0x5169},
     {0x516B, 0x516B},   {0x516D, 0x516D},   {0x5341, 0x5341},   {0x5343, 0x5345},
     {0x534C, 0x534C},   {0x53C1, 0x53C4},   {0x56DB, 0x56DB},   {0x58F1, 0x58F1},
     {0x58F9, 0x58F9},   {0x5E7A, 0x5E7A},   {0x5EFE, 0x5EFF},   {0x5F0C, 0x5F0E},
     {0x5F10, 0x5F10},   {0x62FE, 0x62FE},   {0x634C, 0x634C},   {0x67D2, 0x67D2},
     {0x6F06, 0x6F06},   {0x7396, 0x7396},   {0x767E, 0x767E},   {0x8086, 0x8086},
     {0x842C, 0x842C},   {0x8CAE, 0x8CAE},   {0x8CB3, 0x8CB3},   {0x8D30, 0x8D30},
     {0x9621, 0x9621},   {0x9646, 0x9646},   {0x964C, 0x964C},   {0x9678, 0x9678},
     {0x96F6, 0x96F6},   {0xF96B, 0xF96B},   {0xF973, 0xF973},   {0xF978, 0xF978},
     {0xF9B2, 0xF9B2},   {0xF9D1, 0xF9D1},   {0xF9D3, 0xF9D3},   {0xF9FD, 0xF9FD},
     {0x20001, 0x20001}, {0x20064, 0x20064}, {0x200E2, 0x200E2}, {0x20121, 0x20121},
     {0x2092A, 0x2092A}, {0x20983, 0x20983}, {0x2098C, 0x2098C}, {0x2099C, 0x2099C},
     {0x20AEA, 0x20AEA}, {0x20AFD, 0x20AFD}, {0x20B19, 0x20B19}, {0x22390, 0x22390},
     {0x22998, 0x22998}, {0x23B1B, 0x23B1B}, {0x2626D, 0x2626D}, {0x2F890, 0x2F890}}};
constexpr std::array<Codes, 24> kLowerBeyondLetters = {
    {{0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
     {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},
     {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
     {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},
     {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
     {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}}};
constexpr std::array<Codes, 5> kUpperBeyondLetters = {{{0x2160, 0x216F},
                                                       {0x24B6, 0x24CF},
                                                       {0x1F130, 0x1F149},
                                                       {0x1F150, 0x1F169},
                                                       {0x1F170, 0x1F189}}};

// Each character whose upper or title case is longer than one character.
constexpr std::string_view kLongCases =
    "ß SS Ss|ŉ ʼN ʼN|ǰ J̌ J̌|ΐ Ϊ́ Ϊ́|ΰ Ϋ́ Ϋ́|և ԵՒ Եւ|"
    "ẖ H̱ H̱|ẗ T̈ T̈|ẘ W̊ W̊|ẙ Y̊ Y̊|ẚ Aʾ Aʾ|ὐ Υ̓ Υ̓|"
    "ὒ Υ̓̀ Υ̓̀|ὔ Υ̓́ Υ̓́|ὖ Υ̓͂ Υ̓͂|ᾀ ἈΙ ᾈ|ᾁ ἉΙ ᾉ|"
    "ᾂ ἊΙ ᾊ|ᾃ ἋΙ ᾋ|ᾄ ἌΙ ᾌ|ᾅ ἍΙ ᾍ|ᾆ ἎΙ ᾎ|ᾇ ἏΙ ᾏ|"
    "ᾈ ἈΙ ᾈ|ᾉ ἉΙ ᾉ|ᾊ ἊΙ ᾊ|ᾋ ἋΙ ᾋ|ᾌ ἌΙ ᾌ|ᾍ ἍΙ ᾍ|"
    "ᾎ ἎΙ ᾎ|ᾏ ἏΙ ᾏ|ᾐ ἨΙ ᾘ|ᾑ ἩΙ ᾙ|ᾒ ἪΙ ᾚ|ᾓ ἫΙ ᾛ|"
    "ᾔ ἬΙ ᾜ|ᾕ ἭΙ ᾝ|ᾖ ἮΙ ᾞ|ᾗ ἯΙ ᾟ|ᾘ ἨΙ ᾘ|ᾙ ἩΙ ᾙ|"
    "ᾚ ἪΙ ᾚ|ᾛ ἫΙ ᾛ|ᾜ ἬΙ ᾜ|ᾝ ἭΙ ᾝ|ᾞ ἮΙ ᾞ|ᾟ ἯΙ ᾟ|"
    "ᾠ ὨΙ ᾨ|ᾡ ὩΙ ᾩ|ᾢ ὪΙ ᾪ|ᾣ ὫΙ ᾫ|ᾤ ὬΙ ᾬ|ᾥ ὭΙ ᾭ|"
    "ᾦ ὮΙ ᾮ|ᾧ ὯΙ ᾯ|ᾨ ὨΙ ᾨ|ᾩ ὩΙ ᾩ|ᾪ ὪΙ ᾪ|ᾫ ὫΙ ᾫ|"
    "ᾬ ὬΙ ᾬ|ᾭ ὭΙ ᾭ|ᾮ ὮΙ ᾮ|ᾯ ὯΙ ᾯ|ᾲ ᾺΙ Ὰͅ|ᾳ ΑΙ ᾼ|"
    "ᾴ ΆΙ Άͅ|ᾶ Α͂ Α͂|ᾷ Α͂Ι ᾼ͂|ᾼ ΑΙ ᾼ|ῂ ῊΙ Ὴͅ|"
    "ῃ ΗΙ ῌ|ῄ ΉΙ Ήͅ|ῆ Η͂ Η͂|ῇ Η͂Ι ῌ͂|ῌ ΗΙ ῌ|"
    "ῒ Ϊ̀ Ϊ̀|ΐ Ϊ́ Ϊ́|ῖ Ι͂ Ι͂|ῗ Ϊ͂ Ϊ͂|ῢ Ϋ̀ Ϋ̀|"
    "ΰ Ϋ́ Ϋ́|ῤ Ρ̓ Ρ̓|ῦ Υ͂ Υ͂|ῧ Ϋ͂ Ϋ͂|ῲ ῺΙ Ὼͅ|"
    "ῳ ΩΙ ῼ|ῴ ΏΙ Ώͅ|ῶ Ω͂ Ω͂|ῷ Ω͂Ι ῼ͂|ῼ ΩΙ ῼ|ﬀ FF Ff|"
    "ﬁ FI Fi|ﬂ FL Fl|ﬃ FFI Ffi|ﬄ FFL Ffl|ﬅ ST St|ﬆ ST St|ﬓ ՄՆ Մն|"
    "ﬔ ՄԵ Մե|ﬕ ՄԻ Մի|ﬖ ՎՆ Վն|ﬗ ՄԽ Մխ";

}  // namespace

std::string_view long_cases() { return kLongCases; }
bool is_digit_beyond_decimals(char32_t code) { return has(kDigits, code); }
bool is_numeric_letter(char32_t code) { return has(kNumericLetters, code); }
bool is_lower_beyond_letters(char32_t code) { return has(kLowerBeyondLetters, code); }
bool is_upper_beyond_letters(char32_t code) { return has(kUpperBeyondLetters, code); }

namespace {

enum class Case { kUpper, kLower, kTitle };

/// The upper or title case of a character whose other case is longer, or nothing.
std::string_view long_case(std::string_view character, Case to) {
  const std::string_view table = long_cases();
  for (size_t at = table.find(character); at != std::string_view::npos;
       at = table.find(character, at + 1)) {
    const size_t end = at + character.size();
    if ((at > 0 && table[at - 1] != '|') || table[end] != ' ') continue;
    const size_t upper_end = table.find(' ', end + 1);
    if (to == Case::kUpper) return table.substr(end + 1, upper_end - end - 1);
    return table.substr(upper_end + 1, table.find('|', upper_end) - upper_end - 1);
  }
  return {};
}

bool is_cased(char32_t code) {
  return is_lower_code(code) || is_upper_code(code) || is_title_code(code);
}

bool is_ignored_by_case(char32_t code) {
  constexpr std::u32string_view kMarks =
      U"'.:^`\u00A8\u00AD\u00AF\u00B4\u00B7\u00B8\u2018\u2019\u2024\u2027";
  if (kMarks.find(code) != std::u32string_view::npos) return true;
  if (code == kHidden) return false;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
         category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
         category == UTF8PROC_CATEGORY_SK;
}

/// Whether the letter that ends at byte `end` is the last of its word.
bool ends_word(std::string_view text, size_t end) {
  while (end < text.size()) {
    const char32_t code = next_code(text, end);
    if (!is_ignored_by_case(code)) return !is_cased(code);
  }
  return true;
}

/// Appends the character of `text` between two bytes in another case.
void append_cased(std::string& result, std::string_view text, size_t begin, size_t end,
                  char32_t code, Case to, bool is_behind_letter) {
  if (code == kHidden) {
    result += text.substr(begin, end - begin);
    return;
  }
  if (code < 0x80) {
    const bool is_small = code >= 'a' && code <= 'z', is_big = code >= 'A' && code <= 'Z';
    const int change = to == Case::kLower ? (is_big ? 32 : 0) : (is_small ? -32 : 0);
    result += static_cast<char>(static_cast<int>(code) + change);
    return;
  }
  if (to == Case::kLower) {
    constexpr char32_t kDottedI = 0x130, kSigma = 0x3A3, kFinalSigma = 0x3C2;
    if (code == kDottedI) {
      result += "i\u0307";
    } else if (code == kSigma && is_behind_letter && ends_word(text, end)) {
      append_code(result, kFinalSigma);
    } else {
      append_code(result,
                  static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
    }
    return;
  }
  const std::string_view longer = long_case(text.substr(begin, end - begin), to);
  const auto number = static_cast<utf8proc_int32_t>(code);
  if (!longer.empty()) {
    result += longer;
  } else {
    append_code(result, static_cast<char32_t>(to == Case::kUpper ? utf8proc_toupper(number)
                                                                 : utf8proc_totitle(number)));
  }
}

/// `choose` is given each character, and says in which case it is to be.
template <typename Choose>
std::string in_case(std::string_view text, const Choose& choose) {
  std::string result;
  result.reserve(text.size());
  bool is_behind_letter = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    append_cased(result, text, begin, at, code, choose(code), is_behind_letter);
    if (!is_ignored_by_case(code)) is_behind_letter = is_cased(code);
  }
  return result;
}

}  // namespace

std::string upper(std::string_view text) {
  return in_case(text, [](char32_t) { return Case::kUpper; });
}

std::string lower(std::string_view text) {
  return in_case(text, [](char32_t) { return Case::kLower; });
}

std::string title(std::string_view text) {
  bool is_in_word = false;
  return in_case(text, [&](char32_t code) {
    const Case to = is_in_word ? Case::kLower : Case::kTitle;
    is_in_word = is_cased(code);
    return to;
  });
}

std::string capitalized(std::string_view text) {
  bool is_first = true;
  return in_case(text, [&](char32_t) {
    const Case to = is_first ? Case::kTitle : Case::kLower;
    is_first = false;
    return to;
  });
}

std::string swapped_case(std::string_view text) {
  return in_case(text,
                 [](char32_t code) { return is_upper_code(code) ? Case::kLower : Case::kUpper; });
}

std::string folded_case(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = next_code(text, at);
    if (code == kHidden) {
      result += text.substr(begin, at - begin);
      continue;
    }
    std::array<utf8proc_int32_t, 8> codes{};
    int last = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), codes.data(),
                                               codes.size(), UTF8PROC_CASEFOLD, &last);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      append_code(result, static_cast<char32_t>(codes[static_cast<size_t>(i)]));
    }
  }
  return result;
}

}  // namespace predgen::jinja
