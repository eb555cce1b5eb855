#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace predgen {

/// Finds the end of a JSON object or list in a text that grows.
class JsonEnd {
 public:
  /// The text so far, which begins with { or [, and earlier ones; the byte after its last bracket.
  std::optional<size_t> find(std::string_view text);

 private:
  size_t at_ = 0;  // looked through so far
  int depth_ = 0;
  std::optional<size_t> end_;
  bool in_string_ = false, is_escaped_ = false;
};

}  // namespace predgen
