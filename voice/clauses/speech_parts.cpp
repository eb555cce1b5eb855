#include "voice/clauses/speech_parts.h"

#include <array>
#include <cstdint>

#include "core/text.h"

namespace predgen {
namespace {

constexpr std::string_view kSpaces = " \t\n";

/// The byte after the last mark in `text`; 0 if there is none.
size_t after_last_mark(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMarks{". ",     "! ",     "? ",     "; ",
                                                    ": ",     ", ",     "\u3002", "\uff01",
                                                    "\uff1f", "\uff0c", "\u3001", " \u2014 "};
  size_t end = 0;
  for (const std::string_view mark : kMarks) {
    const size_t place = text.rfind(mark);
    if (place != std::string_view::npos) end = std::max(end, place + mark.size());
  }
  return end;
}

}  // namespace

std::vector<std::string> speech_parts(std::string_view text, int64_t max_characters) {
  std::vector<std::string> parts;
  while (!(text = trimmed(text, kSpaces)).empty()) {
    size_t end = first_characters(text, max_characters).size();
    if (end < text.size()) {
      const std::string_view fits =
          text.substr(0, end + 1);  // a space may follow the last character
      if (const size_t mark = after_last_mark(fits); mark > 0 && mark <= end + 1) {
        end = std::min(mark, end);
      } else if (const size_t space = fits.find_last_of(kSpaces); space != std::string_view::npos) {
        end = space;
      }
    }
    parts.emplace_back(trimmed(text.substr(0, end), kSpaces));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace predgen
