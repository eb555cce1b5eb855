#pragma once

#include <cstdint>
#include <string_view>

#include "evaluate/eval_turn.h"

namespace predgen::evaluate {

/// What an answer in a task dialogue does, judged by its surface: names or numbers (find_values())
/// make it an offer, a confirmation or a piece of information, which are not told apart, since each
/// may be phrased as a question; else a question mark makes it a question; else it is a closing, a
/// refusal or an acknowledgement.
enum class Act { kTells, kAsks, kNeither };
Act act_of(std::string_view answer);

/// An answer compared with the data set's.
struct TaskAnswer {
  // Names and numbers in it, and how many of them either side said earlier in the conversation, or
  // the reference has; the others are invented.
  int64_t num_values = 0, num_known_values = 0;
  bool same_act = false;
};

/// `turn` has a reference.
TaskAnswer compare_task_answer(const EvalTurn& turn, std::string_view answer);

}  // namespace predgen::evaluate
