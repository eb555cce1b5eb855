#include "voice/hibari/hibari_sound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

constexpr int64_t kRate = 24000, kHop = 300, kWindow = 1200, kOverlap = kWindow / kHop;
constexpr float kLeastPitch = 40, kHighest = 11000;  // Hz
constexpr double kMostLogarithm = 7;                 // of a magnitude
// LibTorch computes up to this many on the calling thread.
constexpr int64_t kFramesAtOnce = 80;

at::Tensor magnitude(const at::Tensor& logarithm) {
  return logarithm.clamp_max(kMostLogarithm).exp();
}

/// The pitch at every sample [count * 300] of frames from `begin` on: linearly interpolated between
/// frame centres. `padded` has one more frame at each end.
at::Tensor pitch_of_samples(const at::Tensor& padded, int64_t begin, int64_t count) {
  const auto frames = [&](int64_t shift) {
    return padded.slice(0, begin + shift, begin + shift + count).unsqueeze(1);
  };
  const at::Tensor place = (at::arange(kHop, at::kFloat) + 0.5) / kHop - 0.5;  // from the middle
  const at::Tensor early = place.slice(0, 0, kHop / 2) + 1, late = place.slice(0, kHop / 2);
  return at::cat({frames(0) * (1 - early) + frames(1) * early,
                  frames(1) * (1 - late) + frames(2) * late},
                 1)
      .reshape(-1);
}

}  // namespace

at::Tensor hibari_pulses(const at::Tensor& pitch_F) {
  const int64_t num_frames = pitch_F.size(0);
  const at::Tensor padded =
      at::cat({pitch_F.slice(0, 0, 1), pitch_F, pitch_F.slice(0, num_frames - 1)});
  std::vector<at::Tensor> parts;
  double cycles = 0;  // in samples times Hz
  for (int64_t begin = 0; begin < num_frames; begin += kFramesAtOnce) {
    const at::Tensor pitch =
        pitch_of_samples(padded, begin, std::min(kFramesAtOnce, num_frames - begin));
    const at::Tensor voiced_pitch = pitch.clamp_min(kLeastPitch);
    const at::Tensor sums = at::cumsum(voiced_pitch, 0, at::kDouble) + cycles;
    cycles = sums[-1].item<double>();
    const at::Tensor turn =
        ((sums / static_cast<double>(kRate)).frac() * (2 * std::numbers::pi)).to(at::kFloat);
    // sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2, whose limit at t = 0 is H
    const at::Tensor harmonics = (kHighest / voiced_pitch).floor() + 0.5;
    const at::Tensor half = (turn * 0.5).sin() * 2;
    const at::Tensor sum =
        at::where(half.abs() <= 2e-3, harmonics, (harmonics * turn).sin() / half) - 0.5;
    parts.push_back(at::where(pitch > kLeastPitch, sum, at::zeros({}, at::kFloat)));
  }
  return at::cat(parts);
}

HibariSound::HibariSound(HibariFrames frames)
    : frames_(std::move(frames)), window_(at::hann_window(kWindow, at::kFloat)), open_(kWindow) {
  const at::Tensor pulses = hibari_pulses(frames_.pitch_F).unsqueeze(0);
  PREDGEN_CHECK(num_frames() * kHop > kWindow / 2, "{} frames are too few", num_frames());
  pulses_ = at::reflection_pad1d(pulses, {kWindow / 2, kWindow / 2}).squeeze(0);
}

at::Tensor HibariSound::spectrum(int64_t begin, const at::Tensor& noise_FB) const {
  const int64_t count = noise_FB.size(0);
  const at::Tensor source =
      pulses_.slice(0, begin * kHop, (begin + count - 1) * kHop + kWindow).unfold(0, kWindow, kHop);
  const auto part = [&](const at::Tensor& values) {
    return values.slice(1, begin, begin + count).t();
  };
  const at::Tensor turn = part(frames_.turn_BF).tanh() * std::numbers::pi;
  return at::fft_rfft(source * (window_ / static_cast<double>(kWindow / 4))) *
             at::polar(magnitude(part(frames_.voice_BF)), turn) +
         noise_FB * magnitude(part(frames_.noise_BF)) +
         at::polar(magnitude(part(frames_.rest_BF)), part(frames_.phase_BF));
}

void HibariSound::push(const at::Tensor& noise_FB, std::vector<float>& samples) {
  const int64_t count = noise_FB.size(0);
  PREDGEN_CHECK(count <= frames_left(), "{} frames, but {} are left", count, frames_left());
  if (count == 0) return;
  add(at::fft_irfft(spectrum(next_, noise_FB), kWindow) * window_, samples);
}

void HibariSound::add(const at::Tensor& windows, std::vector<float>& samples) {
  const at::Tensor all = windows.contiguous();
  const float* values = all.const_data_ptr<float>();
  for (int64_t i = 0; i < all.size(0); ++i, values += kWindow) {
    for (size_t j = 0; j < open_.size(); ++j) open_[j] += values[j];
    emit(next_++, samples);
  }
  if (frames_left() > 0) return;
  emit(num_frames(), samples);
  emit(num_frames() + 1, samples);
}

/// Emits the first open block, which is complete, unless it is before the first
/// sample.
void HibariSound::emit(int64_t block, std::vector<float>& samples) {
  const float* const window = window_.const_data_ptr<float>();
  for (int64_t i = 0; i < kHop && block >= kOverlap / 2; ++i) {
    float weight = 0;
    for (int64_t j = 0; j < kOverlap; ++j) {
      const bool is_there = block - j >= 0 && block - j < num_frames();
      const float value = window[j * kHop + i];
      if (is_there) weight += value * value;
    }
    const float sample = open_[static_cast<size_t>(i)] / std::max(weight, 1e-11F);
    samples.push_back(std::clamp(sample, -1.0F, 1.0F));
  }
  open_.erase(open_.begin(), open_.begin() + kHop);
  open_.resize(kWindow);
}

}  // namespace predgen
