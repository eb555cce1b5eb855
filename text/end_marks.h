#pragma once

#include <array>
#include <string_view>

namespace predgen {

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

}  // namespace predgen
