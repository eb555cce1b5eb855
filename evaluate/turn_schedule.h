#pragma once

#include <vector>

#include "evaluate/eval_config.h"
#include "evaluate/eval_turn.h"
#include "evaluate/method.h"

namespace predgen::evaluate {

/// kStablePause by a recogniser's log, which has an entry only where its text changes. Ours give
/// two texts in three within 0.4 s of the one before; one that stands for longer has been heard
/// once more without another word.
constexpr Seconds kRecordedPause{0.45};

/// Seconds from the last word until the turn is known to be over: the method's or the
/// configuration's.
double end_of_turn_wait(const EvalConfig& config, const Method& method);
/// The same of a turn that was scheduled from `start`: where it is known when the voice ended, from
/// then on.
double end_of_turn_wait(const EvalConfig& config, const EvalTurn& turn, const Method& method,
                        const std::vector<Transcript>& schedule, Seconds start);

/// What is heard of a turn and when, the user beginning at `start`: recorded, or typed at the
/// method's or the configuration's rate. With a wait for the end of the turn all its words stand
/// as a partial transcript first; it counts from the end of the voice where that is known, in place
/// of the end that was recorded. A method that answers at pauses hears of them (is_stable), the
/// others have the same schedule without these events.
std::vector<Transcript> turn_schedule(const EvalConfig& config, const EvalTurn& turn,
                                      const Method& method, Seconds start);

}  // namespace predgen::evaluate
