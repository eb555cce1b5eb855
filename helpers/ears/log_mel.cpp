#include "helpers/ears/log_mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "helpers/ears/spectrum.h"
#include "helpers/ears/voice_activity.h"

namespace predgen::ears {
namespace {

constexpr int64_t kFrame = 400, kHop = 160;  // samples
constexpr int64_t kBins = kFrame / 2 + 1;

// Slaney's scale: linear up to 1,000 Hz, logarithmic above.
constexpr double kLinear = 200.0 / 3, kBend = 15;  // Hz a mel, mels
const double kStep = std::log(6.4) / 27;

double hertz_of(double mels) {
  return mels < kBend ? mels * kLinear : kBend * kLinear * std::exp(kStep * (mels - kBend));
}

double mels_of(double hertz) {
  const double bend = kBend * kLinear;
  return hertz < bend ? hertz / kLinear : kBend + std::log(hertz / bend) / kStep;
}

/// Behind zeros, with mean 0 and variance 1, and mirrored over both ends by half a frame.
std::vector<double> prepared(std::span<const float> sound, int64_t window) {
  const auto count = static_cast<double>(window);
  const double mean = std::accumulate(sound.begin(), sound.end(), 0.0) / count;
  double squares = 0;
  for (const float sample : sound) squares += double{sample} * sample;
  const double scale = 1 / std::sqrt(squares / count - mean * mean + 1e-7);
  constexpr int64_t kEdge = kFrame / 2;
  std::vector<double> samples(static_cast<size_t>(window + 2 * kEdge), -mean * scale);
  auto to = samples.end() - kEdge - std::ssize(sound);
  for (const float sample : sound) *to++ = (sample - mean) * scale;
  for (int64_t i = 0; i < kEdge; ++i) {
    samples[static_cast<size_t>(i)] = samples[static_cast<size_t>(2 * kEdge - i)];
    samples[samples.size() - 1 - static_cast<size_t>(i)] =
        samples[samples.size() - 1 - static_cast<size_t>(2 * kEdge - i)];
  }
  return samples;
}

}  // namespace

LogMel::LogMel() : hann_(kFrame) {
  for (int64_t i = 0; i < kFrame; ++i) {
    hann_[static_cast<size_t>(i)] =
        0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / kFrame);
  }
  const double step = mels_of(kRate / 2.0) / (kBands + 1);
  for (int64_t band = 0; band < kBands; ++band) {
    const auto place = static_cast<double>(band);
    const double low = hertz_of(place * step), middle = hertz_of((place + 1) * step),
                 high = hertz_of((place + 2) * step);
    Band triangle{.begin = 0, .weights = {}};
    for (int64_t bin = 0; bin < kBins; ++bin) {
      const double hertz = static_cast<double>(bin) * kRate / kFrame;
      const double weight =
          std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      if (weight <= 0) continue;
      if (triangle.weights.empty()) triangle.begin = bin;
      triangle.weights.push_back(weight * 2 / (high - low));  // each has the same area
    }
    bands_.push_back(std::move(triangle));
  }
}

std::vector<float> LogMel::operator()(std::span<const float> sound, int64_t window) const {
  const std::vector<double> samples = prepared(sound, window);
  const int64_t num_frames = window / kHop;
  const int64_t num_zeros = window - std::ssize(sound);
  std::vector<double> logs(static_cast<size_t>(kBands * num_frames));
  Spectrum spectrum(kFrame);
  std::vector<double> frame(kFrame), energies(kBins);
  for (int64_t t = 0; t < num_frames; ++t) {
    const bool is_as_before = t > 0 && t * kHop + kFrame / 2 <= num_zeros;
    for (int64_t i = 0; i < kFrame && !is_as_before; ++i) {
      const auto at = static_cast<size_t>(i);
      frame[at] = samples[static_cast<size_t>(t * kHop) + at] * hann_[at];
    }
    if (!is_as_before) spectrum.energies(frame, energies);
    for (int64_t band = 0; band < kBands; ++band) {
      const Band& of = bands_[static_cast<size_t>(band)];
      const double energy = std::inner_product(of.weights.begin(), of.weights.end(),
                                               energies.begin() + of.begin, 0.0);
      logs[static_cast<size_t>(band * num_frames + t)] = std::log10(std::max(energy, 1e-10));
    }
  }
  const double least = *std::ranges::max_element(logs) - 8;
  std::vector<float> picture(logs.size());
  std::ranges::transform(logs, picture.begin(), [&](double log) {
    return static_cast<float>((std::max(log, least) + 4) / 4);
  });
  return picture;
}

}  // namespace predgen::ears
