#pragma once

#include <cstddef>
#include <string_view>

#include "text/sentence/open_text.h"

namespace predgen {

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
