#include "voice/waveform.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "audio/sound_file.h"
#include "core/error.h"

namespace predgen {
namespace {

constexpr double kZeroCrossings = 6, kRollOff = 0.99;

/// Hann-windowed sinc; `time` in zero crossings.
double windowed_sinc(double time) {
  if (std::abs(time) >= kZeroCrossings) return 0;
  const double angle = std::numbers::pi * time;
  const double window = std::cos(angle / kZeroCrossings / 2);
  return (angle == 0 ? 1 : std::sin(angle) / angle) * window * window;
}

}  // namespace

at::Tensor resample(const at::Tensor& samples_N, int64_t from_rate, int64_t to_rate) {
  if (from_rate == to_rate) return samples_N;
  const int64_t divisor = std::gcd(from_rate, to_rate);
  // Output sample q is at input time q * from / to: one of `to` phases.
  const int64_t from = from_rate / divisor, to = to_rate / divisor;
  const double cutoff = kRollOff * static_cast<double>(std::min(from, to));
  const double reach = kZeroCrossings * static_cast<double>(from) / cutoff;  // input samples
  const auto num_taps = static_cast<int64_t>(std::ceil(2 * reach)) + 1;
  std::vector<int64_t> first_of(static_cast<size_t>(to));
  std::vector<float> taps(static_cast<size_t>(to * num_taps));
  for (int64_t phase = 0; phase < to; ++phase) {
    const double centre = static_cast<double>(phase * from) / static_cast<double>(to);
    const auto first = static_cast<int64_t>(std::ceil(centre - reach));
    first_of[static_cast<size_t>(phase)] = first;
    for (int64_t tap = 0; tap < num_taps; ++tap) {
      const double time =
          (static_cast<double>(first + tap) - centre) * cutoff / static_cast<double>(from);
      taps[static_cast<size_t>(phase * num_taps + tap)] =
          static_cast<float>(windowed_sinc(time) * cutoff / static_cast<double>(from));
    }
  }
  const at::Tensor input = samples_N.contiguous();
  const int64_t num_in = input.numel(), num_out = (to * num_in + from - 1) / from;
  at::Tensor output = at::empty({num_out}, at::kFloat);
  const float* in = input.const_data_ptr<float>();
  float* out = output.data_ptr<float>();
  for (int64_t q = 0; q < num_out; ++q) {
    const int64_t phase = q % to;
    const int64_t begin = q / to * from + first_of[static_cast<size_t>(phase)];
    const float* weights = &taps[static_cast<size_t>(phase * num_taps)];
    double sum = 0;
    const int64_t stop = std::min(num_taps, num_in - begin);
    for (int64_t tap = std::max<int64_t>(0, -begin); tap < stop; ++tap) {
      sum += static_cast<double>(in[begin + tap]) * static_cast<double>(weights[tap]);
    }
    out[q] = static_cast<float>(sum);
  }
  return output;
}

at::Tensor mono_at(const Waveform& waveform, int64_t rate) {
  // No recording has another rate, and the filter's table would fill the memory.
  constexpr int64_t kSlowest = 1'000, kFastest = 768'000;
  if (waveform.sample_rate < kSlowest || waveform.sample_rate > kFastest) {
    throw UserError("{}: has a sample rate of {} Hz; {} to {} are supported", waveform.name,
                    waveform.sample_rate, kSlowest, kFastest);
  }
  PREDGEN_CHECK(waveform.samples_CN.dim() == 2 && waveform.samples_CN.scalar_type() == at::kFloat,
                "samples are {}", c10::str(waveform.samples_CN.sizes()));
  if (waveform.samples_CN.numel() == 0) throw UserError("{}: holds no sound", waveform.name);
  if (!at::isfinite(waveform.samples_CN).all().item<bool>()) {
    throw UserError("{}: holds samples that are not finite numbers", waveform.name);
  }
  return resample(waveform.samples_CN.mean(0), waveform.sample_rate, rate);
}

Waveform read_audio_file(const std::filesystem::path& file) {
  SoundFile sound(file);
  // Not sized from the header: a broken one may give any number.
  std::vector<float> samples;
  std::vector<float> block(static_cast<size_t>(sound.num_channels()) * 65536);
  while (const int64_t count = sound.read(block)) {
    samples.insert(samples.end(), block.begin(), block.begin() + count * sound.num_channels());
  }
  if (samples.empty()) throw UserError("{}: holds no sound", file.string());
  const int64_t num_values = std::ssize(samples);
  const at::Tensor interleaved = at::from_blob(
      samples.data(), {num_values / sound.num_channels(), sound.num_channels()}, at::kFloat);
  return {file.string(), sound.sample_rate(), interleaved.t().clone(at::MemoryFormat::Contiguous)};
}

}  // namespace predgen
