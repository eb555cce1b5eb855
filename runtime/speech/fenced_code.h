#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace predgen {

/// The marks at the beginning of a line that open fenced code, ``` or ~~~ or longer. They do not if
/// the line closes them again: that is a code span.
struct Fence {
  size_t length = 0;  // 0: no fence
  bool known = true;  // false: the text ends too early to tell
};
/// `at`: byte where the line's first word begins. `complete`: no more text will come.
Fence fence_at(std::string_view text, size_t at, bool complete);

/// Byte just past the fence that closes the one of `length` marks at byte `begin`. Nothing: it is
/// not there yet. A complete text closes it at its end.
std::optional<size_t> end_of_fenced_code(std::string_view text, size_t begin, size_t length,
                                         bool complete);

}  // namespace predgen
