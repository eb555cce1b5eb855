#include "runtime/price/pass_price.h"

namespace predgen {

std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrice& price) {
  return [&clock, price](const PassSize& pass) { clock.advance(price.of(pass.num_tokens)); };
}

}  // namespace predgen
