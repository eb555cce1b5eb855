#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/text.h"

namespace predgen {

/// Whether a sentence ends at a place; kWait: the text so far does not tell.
enum class Verdict { kEnd, kContinue, kWait };

/// A text that may still grow.
struct OpenText {
  std::string_view bytes;
  bool complete = false;  // nothing that matters will follow

  size_t size() const { return bytes.size(); }
  char operator[](size_t i) const { return bytes[i]; }
  Verdict at_end() const { return complete ? Verdict::kEnd : Verdict::kWait; }

  /// At most 256 bytes after byte `at`, cut between characters: text further on is ignored, so the
  /// cost per place does not depend on the length of the text.
  OpenText near(size_t at) const {
    size_t end = at + 256;
    if (end >= bytes.size()) return *this;
    while (end > at && !begins_character(bytes[end])) --end;
    return {bytes.substr(0, end), true};
  }
};

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

constexpr size_t kMaxListDigits = 3;  // of a list item's number

/// One list-item or quotation mark with the space after it: "- ", "2. ", "> ".
struct BlockMark {
  size_t length = 0;  // bytes; 0: none
  bool known = true;  // false: the text ends too early to tell
};
BlockMark block_mark_at(OpenText text, size_t i);

/// The byte after all marks from byte `i` on ("> - "), spaces included. `known` as above.
struct BlockStart {
  size_t at = 0;
  bool known = true;
};
BlockStart skip_block_marks(OpenText text, size_t i);

/// Whether the line that begins at byte `i` cannot continue the sentence before: it is blank, a
/// list item, a heading, a rule, a table's row, fenced code or begins with an emoji.
Verdict line_starts_block(OpenText text, size_t i);

}  // namespace predgen
