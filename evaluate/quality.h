#pragma once

#include <cstdint>
#include <string_view>

#include "core/json.h"
#include "evaluate/eval_turn.h"
#include "evaluate/turn_rows.h"
#include "evaluate/turn_sets.h"

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

/// How many words were inserted, deleted or replaced between what was said and what was heard. Case
/// and punctuation do not count.
int64_t count_word_errors(std::string_view heard, std::string_view said);

/// How well the recorded turns of a set were heard: {"turns", "cut_off", "words", "word_errors",
/// "wait": a Summary of the seconds from the end of the voice to the end of the turn, over turns
/// that were not cut off}. Null for a set that does not say when its voices ended.
Json describe_heard(const TurnSet& set);

// Quality of answers by their texts, for results.json. A share of turns is {"share", "low",
// "high" (95 %), "count", "n"}. Null if no turn has the data.

/// Of turns with a right answer or call: a share, of answers by the flexible rule (Extraction) with
/// one by the strict rule under "strict", and under "by_category" by category where the set has
/// categories.
Json describe_accuracy(const Rows& rows, const TurnSet& turns);

/// Of turns with a reference: "same_act", a share, and "known_values", the part of all names and
/// numbers in the answers that is not invented (TaskAnswer).
Json describe_task_answers(const Rows& rows, const TurnSet& turns);

/// Share of the texts that differ from those of `baseline`; entry i of both is of the same turn.
Json describe_changed_texts(const Rows& baseline, const Rows& rows);

/// Adds to a row the measures that need only the texts.
void add_quality(const EvalTurn& turn, Json& row);

}  // namespace predgen::evaluate
