#include "runtime/speech/speech_text.h"

#include <utf8proc.h>

#include <algorithm>

namespace predgen {

std::string speakable_text(std::string_view sentence) {
  std::string text;
  bool speakable = false;
  for (size_t i = 0; i < sentence.size();) {
    utf8proc_int32_t code = 0;
    const auto length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(sentence.data()) + i,
                         static_cast<utf8proc_ssize_t>(sentence.size() - i), &code);
    if (length <= 0) {
      ++i;
      continue;
    }
    const auto category = utf8proc_category(code);
    if (category == UTF8PROC_CATEGORY_CC || code == ' ') {
      if (!text.empty() && text.back() != ' ') text.push_back(' ');
    } else {
      text.append(sentence, i, static_cast<size_t>(length));
      speakable |= (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
                   (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
    }
    i += static_cast<size_t>(length);
  }
  if (!speakable) return {};
  if (text.back() == ' ') text.pop_back();
  return text;
}

int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace predgen
