#pragma once

#include <vector>

#include "evaluate/eval_config.h"
#include "evaluate/eval_turn.h"
#include "evaluate/method.h"

namespace predgen::evaluate {

/// kStablePause in a recogniser's log, which has an entry only when its text changes. Our
/// recognisers give two texts in three within 0.4 s of the one before; one that stands longer has
/// been decoded again without another word.
constexpr Seconds kRecordedPause{0.45};

/// Seconds from the last word until the turn is known to be over: the method's or the
/// configuration's.
double end_of_turn_wait(const EvalConfig& config, const Method& method);
/// The same for a turn scheduled from `start`; counted from the end of the voice if that is
/// known.
double end_of_turn_wait(const EvalConfig& config, const EvalTurn& turn, const Method& method,
                        const std::vector<Transcript>& schedule, Seconds start);

/// What is heard of a turn and when, the user beginning at `start`: recorded, or typed at the
/// method's or the configuration's rate. With a wait for the end of the turn, all its words first
/// come as a partial transcript; the wait counts from the end of the voice if that is known, and
/// replaces the recorded end. A method that answers at pauses gets them (is_stable), the others
/// have the same schedule without these events.
std::vector<Transcript> turn_schedule(const EvalConfig& config, const EvalTurn& turn,
                                      const Method& method, Seconds start);

}  // namespace predgen::evaluate
