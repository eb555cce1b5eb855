#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/clock.h"

namespace predgen {

/// How much of a sentence is synthesised before it is played: whichever limit is reached first.
struct AheadBuffer {
  Seconds audio{3};
  int64_t steps = std::numeric_limits<int64_t>::max();  // of Synthesis::advance()

  bool is_full(int64_t num_steps, size_t num_samples, int sample_rate) const {
    return num_steps >= steps || static_cast<double>(num_samples) >= audio.count() * sample_rate;
  }
};

}  // namespace predgen
