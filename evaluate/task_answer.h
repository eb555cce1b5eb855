#pragma once

#include <cstdint>
#include <string_view>

#include "evaluate/eval_turn.h"

namespace predgen::evaluate {

/// What an answer of a task dialogue does, as far as its surface tells: names or numbers
/// (find_values()) make it an offer, a confirmation or a piece of information, which are not told
/// apart, since each of them comes as a question or not; else a question mark makes it a question;
/// else it is a closing, a refusal or an acknowledgement.
enum class Act { kTells, kAsks, kNeither };
Act act_of(std::string_view answer);

/// An answer beside the data set's.
struct TaskAnswer {
  // Names and numbers that it says, and how many of them were said before in the conversation, by
  // either side, or stand in the reference; the others are invented.
  int64_t num_values = 0, num_known_values = 0;
  bool same_act = false;
};

/// `turn` has a reference.
TaskAnswer compare_task_answer(const EvalTurn& turn, std::string_view answer);

}  // namespace predgen::evaluate
