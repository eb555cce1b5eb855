#pragma once

#include <functional>

#include "core/clock.h"
#include "runtime/engine/engine.h"
#include "runtime/price/pass_prices.h"

namespace predgen {

/// For Engine::observe_passes(): charges every pass to the clock, which outlives the observer. A
/// clock that measures has counted them already: advance() does nothing then.
std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrices& prices);

}  // namespace predgen
