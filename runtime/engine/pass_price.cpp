#include "runtime/engine/pass_price.h"

namespace predgen {

std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrice& price) {
  return [&clock, price](const PassSize& pass) {
    const auto num_prefill = static_cast<double>(pass.num_tokens - pass.num_logits);
    clock.advance(price.per_pass + price.per_prefill_token * num_prefill);
  };
}

}  // namespace predgen
