#include "audio/pcm16.h"

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

std::string_view bytes_of(std::span<const int16_t> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::vector<float> from_pcm16(std::string_view bytes) {
  std::vector<float> samples(bytes.size() / 2);
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto low = static_cast<unsigned char>(bytes[2 * i]);
    const auto high = static_cast<unsigned char>(bytes[2 * i + 1]);
    samples[i] = static_cast<float>(static_cast<int16_t>(high << 8 | low)) / 32768.0f;
  }
  return samples;
}

}  // namespace predgen
