#pragma once

// Replaces llama.cpp's header of this name: the one function that its Jinja engine uses.
#include <utf8proc.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

struct utf8_parse_result {
  enum Status { SUCCESS, INVALID };
  uint32_t codepoint;
  size_t bytes_consumed;
  Status status;
};

inline utf8_parse_result common_parse_utf8_codepoint(std::string_view text, size_t offset) {
  utf8proc_int32_t codepoint = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + offset),
                       static_cast<utf8proc_ssize_t>(text.size() - offset), &codepoint);
  if (length <= 0) return {0, 0, utf8_parse_result::INVALID};
  return {static_cast<uint32_t>(codepoint), static_cast<size_t>(length),
          utf8_parse_result::SUCCESS};
}
