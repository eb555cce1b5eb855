#pragma once

#include <cstddef>

#include "text/sentence/open_text.h"

namespace predgen {

/// Whether the period at byte `period`, with white space after it, ends the sentence that `text`
/// begins with, or belongs to an abbreviation, an initial, a date or the number of a list item.
/// `next`: where the next word begins; text.size() if it has not arrived yet.
Verdict judge_period(OpenText text, size_t period, size_t next);

}  // namespace predgen
