#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "core/clock.h"
#include "runtime/cost/pass_costs.h"
#include "runtime/engine/engine.h"

namespace predgen {

/// Runs passes now and times them by `clock`: over one token and up to `widest` drafted ones (1, 2,
/// 4, 8, .. tokens and the widest), after a context of 128 (fewer if the model has less room). Each
/// cost is the least of up to five, each after another pass of its width; where passes are long,
/// it is that of one pass. UserError if the model has no room.
PassCosts measure_costs(Engine& engine, int64_t widest,
                        const Clock& clock = SystemClock(std::stop_token()));

/// The same for what passes read, over one token and over 8, after 128 cached ones and after 2,048:
/// fewer if they would take more than 256 MiB, or if the model has less room. Nothing if it has
/// hardly any, or if the difference is too small to be seen.
ReadingCosts measure_reading(Engine& engine, const Clock& clock = SystemClock(std::stop_token()));

/// For Engine::observe_passes(): charges every pass to the clock, which outlives the observer. A
/// clock that measures has counted them already: advance() does nothing then.
std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassCosts& costs);

}  // namespace predgen
