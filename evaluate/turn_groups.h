#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "evaluate/eval_turn.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {

/// The costs that are compared: a draft model's passes count by their cost in passes of the model.
std::vector<std::optional<double>> costs_of(const Rows& rows, const std::string& metric);

/// Baseline / method: how many times less the method needs, over turns whose first sentence has
/// `at_least` tokens in the baseline. Row i of both is of the same turn. An Estimate, or null.
Json saving(const Rows& baseline, const Rows& method, const std::string& metric, int64_t at_least);

/// How the words at the end of a turn changed between two transcripts:
///   punctuation       the words are the same, but for case and punctuation
///   word_added        one more at the end
///   clause_added      two or more at the end
///   word_revised      one is another, is gone, or stands between the others
///   question_changed  more than that
std::string change_between(std::string_view before, std::string_view final_text);

/// change_between() the last transcript that differs from the turn's final one and the final one,
/// as recorded or typed; "none" if there is no such transcript. The wait for the end of the turn
/// does not affect it.
std::string last_change(const EvalTurn& turn);

/// All that last_change() may say, in the order in which a table shows them.
const std::vector<std::string>& last_changes();

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
