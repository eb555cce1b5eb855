#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/sentence/open_text.h"

namespace predgen {

/// The marks that open fenced code, ``` or ~~~ or longer, at the beginning of a line or after
/// the marks of a list item or a quotation. A line that also closes them is a code span
/// instead.
struct Fence {
  size_t begin = 0;   // byte of the first mark
  size_t length = 0;  // 0: no fence
  bool known = true;  // false: the text ends too early to tell
};
/// `at`: byte where the line begins.
Fence fence_at(OpenText text, size_t at);

/// Byte just past the marks that close `fence`. None: not closed yet. A complete text closes it at
/// its end. `line`: where to look for the next line break; is advanced, so that
/// a growing text is read only once. Starts at fence.begin.
std::optional<size_t> end_of_fenced_code(OpenText text, const Fence& fence, size_t& line);

}  // namespace predgen
