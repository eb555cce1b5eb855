#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "core/clock.h"
#include "runtime/engine/engine.h"
#include "runtime/price/pass_prices.h"

namespace predgen {

/// Runs passes now and times them by `clock`: over one token and up to `widest` drafted ones (1, 2,
/// 4, 8, .. tokens and the widest), after a context of 128 (fewer if the model has less room). Each
/// price is the least of up to five, each after another pass of its width; where passes are long,
/// it is that of one pass. UserError if the model has no room.
PassPrices measure_prices(Engine& engine, int64_t widest,
                          const Clock& clock = SystemClock(std::stop_token()));

/// For Engine::observe_passes(): charges every pass to the clock, which outlives the observer. A
/// clock that measures has counted them already: advance() does nothing then.
std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrices& prices);

}  // namespace predgen
