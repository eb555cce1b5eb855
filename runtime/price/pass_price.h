#pragma once

#include <functional>

#include "core/clock.h"
#include "runtime/engine/engine.h"

namespace predgen {

/// What a forward pass costs on a virtual clock that runs by cost table: so much for the weights
/// that it reads, and so much for each token that it runs, of a prompt and of a draft alike.
struct PassPrice {
  Seconds per_pass{0};
  Seconds per_token{0};

  Seconds of(int64_t num_tokens) const {
    return per_pass + per_token * static_cast<double>(num_tokens);
  }
};

/// For Engine::observe_passes(): charges every pass to the clock, which outlives the observer. A
/// clock that measures has counted them already: advance() does nothing then.
std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrice& price);

}  // namespace predgen
