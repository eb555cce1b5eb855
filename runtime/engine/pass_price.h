#pragma once

#include <functional>

#include "core/clock.h"
#include "runtime/engine/engine.h"

namespace predgen {

/// What a forward pass costs on a virtual clock that runs by cost table.
struct PassPrice {
  Seconds per_pass{0};
  Seconds per_prefill_token{0};  // tokens whose logits are not asked for
};

/// For Engine::observe_passes(): charges every pass to the clock, which outlives the observer. A
/// clock that measures has counted them already: advance() does nothing then.
std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrice& price);

}  // namespace predgen
