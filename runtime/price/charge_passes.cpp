#include "runtime/price/charge_passes.h"

namespace predgen {

std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrices& prices) {
  return [&clock, prices](const PassSize& pass) { clock.advance(prices.of(pass.num_tokens)); };
}

}  // namespace predgen
