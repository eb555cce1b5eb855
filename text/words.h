#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// Maps equivalent characters to the same one (NFKC with case folding). UserError on ill-formed
/// UTF-8.
std::string folded(std::string_view text);

/// The words of a text, as white space parts them.
std::vector<std::string> list_words(const std::string& text);
/// The words of a text joined by single spaces, without case and punctuation, so that two
/// transcripts of the same speech are equal however a recogniser writes them: "Don't - go!" is
/// "dont go". Punctuation ends a word, except an apostrophe within one. Letters are compared by
/// Unicode case folding; symbols such as $ and + are parts of words.
std::string bare_words(std::string_view text);
/// The same words as a list.
std::vector<std::string> list_bare_words(std::string_view text);

/// Whether a character is Han, kana or their punctuation, written without spaces between words; one
/// character may be a word.
bool is_word_alone(char32_t c);

/// Whether the script of this character puts no spaces between words: those of is_word_alone(), and
/// Thai, Lao, Burmese and Khmer, whose words have several letters.
bool has_no_word_spaces(char32_t c);

/// Joins two texts, either of which may be empty, with a space, unless the scripts on both sides of
/// it use none. For parts of speech such as a recogniser's segments.
std::string joined_words(std::string_view one, std::string_view other);

/// A text without trailing sentence-ending marks (ASCII's and those of Chinese and Japanese) and
/// without trailing blanks.
inline std::string_view without_end_marks(std::string_view text) {
  constexpr std::array<std::string_view, 7> kMarks{".",      "?",      "!",     "\u2026",
                                                   "\u3002", "\uff1f", "\uff01"};
  const auto without_blanks = [](std::string_view rest) {
    return rest.substr(0, rest.find_last_not_of(" \t\r\n\v\f") + 1);
  };
  text = without_blanks(text);
  for (bool is_cut = true; is_cut;) {
    is_cut = false;
    for (const std::string_view mark : kMarks) {
      if (!text.ends_with(mark)) continue;
      text = without_blanks(text.substr(0, text.size() - mark.size()));
      is_cut = true;
    }
  }
  return text;
}

/// Whether these words, in any case and punctuation, only signal listening ("hm", "yeah, okay"), or
/// there are none. `language`: Whisper's code; empty: unknown, so the words of all languages count.
/// A language without a word list has only its sounds.
bool is_backchannel(const std::string& words, const std::string& language = "en");

}  // namespace predgen
