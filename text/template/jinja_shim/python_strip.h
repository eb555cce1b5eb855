#pragma once

#include <utf8proc.h>

#include <cstddef>
#include <string>

namespace predgen {

/// `text` without the white space at its left or right end that Python's str.strip() removes: more
/// than C's isspace(), which the engine uses.
inline std::string python_strip(const std::string& text, bool left, bool right) {
  const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  size_t begin = 0, end = text.size();
  const auto space_length = [&](size_t at) -> size_t {  // 0: no white space is there
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(end - at), &code);
    if (length <= 0) return 0;
    const utf8proc_property_t& property = *utf8proc_get_property(code);
    const bool is_space = property.category == UTF8PROC_CATEGORY_ZS ||
                          property.bidi_class == UTF8PROC_BIDI_CLASS_WS ||
                          property.bidi_class == UTF8PROC_BIDI_CLASS_B ||
                          property.bidi_class == UTF8PROC_BIDI_CLASS_S;
    return is_space ? static_cast<size_t>(length) : 0;
  };
  while (left && begin < end) {
    const size_t length = space_length(begin);
    if (length == 0) break;
    begin += length;
  }
  while (right && begin < end) {
    size_t last = end - 1;
    while (last > begin && (bytes[last] & 0xC0) == 0x80) --last;
    if (last + space_length(last) != end) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

}  // namespace predgen
