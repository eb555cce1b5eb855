#include "runtime/speech/pcm16.h"

#include <algorithm>
#include <cmath>

namespace predgen {

std::vector<int16_t> to_pcm16(std::span<const float> samples) {
  std::vector<int16_t> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float sample) {
    return static_cast<int16_t>(std::lrint(std::clamp(sample * 32768.0f, -32768.0f, 32767.0f)));
  });
  return values;
}

}  // namespace predgen
