#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluate/eval_turn.h"

namespace predgen::evaluate {

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

}  // namespace predgen::evaluate
