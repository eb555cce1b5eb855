#pragma once

#include <string_view>

namespace predgen {

/// Whether there is nothing but white space (ASCII's six characters).
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace predgen
