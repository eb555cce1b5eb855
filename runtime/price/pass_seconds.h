#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "core/clock.h"
#include "runtime/engine/engine.h"

namespace predgen {

/// Seconds by `clock` of a pass over one token and 0, 1, .. `widest` drafted ones, after a context
/// of 128 (fewer where the model has no more room): the least of up to five, each after another of
/// its width, run now; between those over 1, 2, 4, 8, .. tokens and the widest it is interpolated.
/// UserError if the model has no room for them.
std::vector<double> measure_pass_seconds(Engine& engine, int64_t widest,
                                         const Clock& clock = SystemClock(std::stop_token()));

/// How many more tokens a pass may have for what `steps` passes over one token cost, where a pass
/// over one and 0, 1, .. more takes `pass_seconds`. No bound if these are not known, or do not
/// grow.
int64_t tokens_for(double steps, const std::vector<double>& pass_seconds);

}  // namespace predgen
