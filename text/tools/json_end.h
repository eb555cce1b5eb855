#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace predgen {

/// Finds the end of a JSON object or list in a growing text.
class JsonEnd {
 public:
  /// `text`: all so far, beginning with { or [. Returns the byte after the closing bracket.
  std::optional<size_t> find(std::string_view text);

 private:
  size_t at_ = 0;  // examined so far
  int depth_ = 0;
  std::optional<size_t> end_;
  bool in_string_ = false, is_escaped_ = false;
};

}  // namespace predgen
