#pragma once

#include <cstdint>
#include <stop_token>

#include "core/clock.h"
#include "runtime/engine/engine.h"
#include "runtime/price/pass_prices.h"

namespace predgen {

/// By `clock`, of passes over one token and up to `widest` drafted ones, after a context of 128
/// (fewer where the model has no more room): the least of up to five, each after another of its
/// width, run now, over 1, 2, 4, 8, .. tokens and the widest. UserError if the model has no room
/// for them.
PassPrices measure_prices(Engine& engine, int64_t widest,
                          const Clock& clock = SystemClock(std::stop_token()));

}  // namespace predgen
