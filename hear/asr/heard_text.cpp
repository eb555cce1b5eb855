#include "hear/asr/heard_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "hear/asr/inventions.h"
#include "text/bare_words.h"
#include "text/end_marks.h"

namespace predgen::ears {
namespace {

constexpr size_t kLongestLoop = 8;      // words
constexpr size_t kMostRepeats = 4;      // of words in a row that may really have been said
constexpr size_t kFewestRestarted = 3;  // words

bool is_word_byte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || (byte & 0x80) != 0;
}

/// A word as compared: lower case without marks.
std::string plain(std::string_view word) {
  std::string letters;
  for (const char byte : word) {
    if (is_word_byte(byte) || byte == '\'') letters += lower_ascii(byte);
  }
  return letters;
}

/// Brackets of Whisper's descriptions, also as Chinese and Japanese have them.
struct Brackets {
  std::string_view opening, closing;
};
constexpr std::array<Brackets, 5> kBrackets{
    {{"[", "]"}, {"(", ")"}, {"\uff08", "\uff09"}, {"\u3010", "\u3011"}, {"\uff3b", "\uff3d"}}};

/// Whether it describes a sound: "(coughs)". Figures, as of a telephone number, and single letters
/// are said.
bool is_description(std::string_view inside) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto num_letters = std::ranges::count_if(inside, is_word_byte);
  return std::ranges::none_of(inside, is_digit) && num_letters != 1;
}

/// Without [Music], (coughs) and notes: descriptions are not speech.
std::string without_descriptions(const std::string& text) {
  constexpr std::string_view kNote = "\u266a";
  std::string said;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    const auto brackets = std::ranges::find_if(
        kBrackets, [&](const Brackets& pair) { return rest.starts_with(pair.opening); });
    if (brackets != kBrackets.end()) {
      const size_t begin = brackets->opening.size(), end = rest.find(brackets->closing, begin);
      if (end != std::string_view::npos && is_description(rest.substr(begin, end - begin))) {
        i += end + brackets->closing.size();
        continue;
      }
    }
    if (rest.starts_with(kNote)) {
      i += kNote.size();
    } else {
      said += text[i++];
    }
  }
  return said;
}

/// How often the `size` words at `begin` follow each other.
size_t count_repeats(const std::vector<std::string>& words, size_t begin, size_t size) {
  size_t count = 1;
  while (begin + (count + 1) * size <= words.size() &&
         std::equal(words.begin() + static_cast<std::ptrdiff_t>(begin),
                    words.begin() + static_cast<std::ptrdiff_t>(begin + size),
                    words.begin() + static_cast<std::ptrdiff_t>(begin + count * size))) {
    ++count;
  }
  return count;
}

bool ends_sentence(const std::string& word) { return without_end_marks(word) != word; }

/// Whether the words from `begin` on, of which the last may be cut, are those at the start.
bool starts_over(const std::vector<std::string>& words, size_t begin) {
  const size_t count = words.size() - begin;
  return count >= kFewestRestarted && count <= begin &&
         std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count - 1),
                    words.begin() + static_cast<std::ptrdiff_t>(begin)) &&
         words[count - 1].starts_with(words.back());
}

/// Reduces a loop to one repetition, and ends with the last sentence that is no start of the text
/// once more.
std::string without_repeats(const std::string& text) {
  std::vector<std::string> words, plain_words;
  for (std::string& word : list_words(text)) {
    plain_words.push_back(plain(word));
    words.push_back(std::move(word));
  }
  for (size_t begin = words.size(); begin-- > 1;) {
    if (!ends_sentence(words[begin - 1]) || !starts_over(plain_words, begin)) continue;
    words.resize(begin);
    plain_words.resize(begin);
  }
  std::string kept;
  for (size_t i = 0; i < words.size(); ++i) {
    kept = joined(kept, " ", words[i]);
    for (size_t size = 1; size <= kLongestLoop && i + 1 >= size; ++size) {
      const size_t begin = i + 1 - size;
      const size_t repeats = count_repeats(plain_words, begin, size);
      if (repeats <= kMostRepeats) continue;
      i = begin + repeats * size - 1;
      break;
    }
  }
  return kept;
}

}  // namespace

std::string believable_text(const std::string& text, int64_t voice) {
  std::string said = without_repeats(without_descriptions(text));
  if (std::none_of(said.begin(), said.end(), is_word_byte)) return {};
  return voice >= voice_to_believe(said) ? said : std::string();
}

std::string without_end_mark(const std::string& text) {
  return std::string(without_end_marks(trimmed(text)));
}

std::string in_small_letters(const std::string& text) {
  const auto is = [](int (*kind)(int)) {
    return [kind](char byte) { return kind(static_cast<unsigned char>(byte)) != 0; };
  };
  if (std::any_of(text.begin(), text.end(), is(std::islower))) return text;
  std::string small;
  for (const std::string& word : list_words(text)) {
    const bool is_i = word == "I" || word.starts_with("I'");
    small = joined(small, " ", is_i ? "I" + lower_ascii(word.substr(1)) : lower_ascii(word));
  }
  return small;
}

}  // namespace predgen::ears
