#pragma once

#include <string_view>

#include "core/json.h"
#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

/// How many words were inserted, deleted or replaced between what was said and what was heard. Case
/// and punctuation do not count.
int64_t count_word_errors(std::string_view heard, std::string_view said);

/// How well the recorded turns of a set were heard: {"turns", "cut_off", "words", "word_errors",
/// "wait": a Summary of the seconds from the end of the voice to the end of the turn, over turns
/// that were not cut off}. Null for a set that does not say when its voices ended.
Json describe_heard(const TurnSet& set);

}  // namespace predgen::evaluate
