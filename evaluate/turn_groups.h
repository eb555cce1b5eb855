#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// The band of a prompt's length in words: "1-5", "6-10", "11-20", "more".
std::string length_band(int64_t num_words);

/// Where a method pays: the turns of a run by "last_change", "source", "length" (of the prompt) and
/// "tools" (what the right call's tool does, and for how long), each a list of {"group", "n": its
/// turns, "methods": {name: ..}} in a fixed order, without groups that have no turn. Of a method:
/// means of its metrics, the share of turns that were "ready", and what it saves against its
/// baseline ("saving", in passes of at least one to a turn), with its interval. "source" and
/// "tools" are empty for a set that names none. `rows`: of to_json(EvalRun).
Json group_turns(const Json& rows, const std::vector<std::string>& methods);

}  // namespace predgen::evaluate
