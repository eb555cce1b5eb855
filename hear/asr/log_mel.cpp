#include "hear/asr/log_mel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "hear/asr/ear.h"

namespace predgen::ears {
namespace {

size_t smallest_factor(size_t size) {
  size_t factor = 2;
  while (size % factor != 0) ++factor;
  return factor;
}

}  // namespace

Spectrum::Spectrum(size_t size) : roots_(size), result_(size), parts_(size) {
  for (size_t k = 0; k < size; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    roots_[k] = {std::cos(angle), std::sin(angle)};
  }
}

void Spectrum::transform(const double* frame, size_t stride, Number* result, size_t size) {
  if (size == 1) {
    *result = {*frame, 0};
    return;
  }
  const size_t factor = smallest_factor(size), rest = size / factor;
  for (size_t part = 0; part < factor; ++part) {
    transform(frame + part * stride, stride * factor, result + part * rest, rest);
  }
  for (size_t k = 0; k < rest; ++k) {
    for (size_t part = 0; part < factor; ++part) parts_[part] = result[part * rest + k];
    for (size_t q = 0; q < factor; ++q) {
      Number sum = parts_[0];
      const size_t step = k + q * rest;
      for (size_t part = 1, root = step; part < factor; ++part) {
        const Number& by = roots_[root * stride];
        const Number& value = parts_[part];
        sum.real += value.real * by.real - value.imaginary * by.imaginary;
        sum.imaginary += value.real * by.imaginary + value.imaginary * by.real;
        root += step;
        if (root >= size) root -= size;
      }
      result[q * rest + k] = sum;
    }
  }
}

void Spectrum::energies(std::span<const double> frame, std::span<double> energies) {
  transform(frame.data(), 1, result_.data(), result_.size());
  for (size_t k = 0; k < energies.size(); ++k) {
    const Number& value = result_[k];
    energies[k] = value.real * value.real + value.imaginary * value.imaginary;
  }
}

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

/// Pads both ends by half a frame, mirrored.
std::vector<double> with_edges(std::span<const double> samples) {
  constexpr size_t kEdge = kFrame / 2;
  std::vector<double> longer(samples.size() + 2 * kEdge);
  std::ranges::copy(samples, longer.begin() + kEdge);
  for (size_t i = 0; i < kEdge; ++i) {
    longer[i] = longer[2 * kEdge - i];
    longer[longer.size() - 1 - i] = longer[longer.size() - 1 - 2 * kEdge + i];
  }
  return longer;
}

}  // namespace

LogMel::LogMel(int64_t num_bands) : hann_(kFrame) {
  for (int64_t i = 0; i < kFrame; ++i) {
    hann_[static_cast<size_t>(i)] =
        0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / kFrame);
  }
  const double step = mels_of(kRate / 2.0) / static_cast<double>(num_bands + 1);
  for (int64_t band = 0; band < num_bands; ++band) {
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

std::vector<float> LogMel::operator()(std::span<const double> samples) const {
  const std::vector<double> longer = with_edges(samples);
  const int64_t num_frames = std::ssize(samples) / kHop;
  std::vector<double> logs(bands_.size() * static_cast<size_t>(num_frames));
  Spectrum spectrum(kFrame);
  std::vector<double> frame(kFrame), energies(kBins);
  std::span<const double> before;
  for (int64_t t = 0; t < num_frames; ++t) {
    const auto now = std::span(longer).subspan(static_cast<size_t>(t * kHop), kFrame);
    if (!std::ranges::equal(now, before)) {  // as the zeros in front are
      std::ranges::transform(now, hann_, frame.begin(), std::multiplies());
      spectrum.energies(frame, energies);
    }
    before = now;
    for (size_t band = 0; band < bands_.size(); ++band) {
      const double energy =
          std::inner_product(bands_[band].weights.begin(), bands_[band].weights.end(),
                             energies.begin() + bands_[band].begin, 0.0);
      logs[band * static_cast<size_t>(num_frames) + static_cast<size_t>(t)] =
          std::log10(std::max(energy, 1e-10));
    }
  }
  const double least = *std::ranges::max_element(logs) - 8;
  std::vector<float> picture(logs.size());
  std::ranges::transform(logs, picture.begin(), [&](double log) {
    return static_cast<float>((std::max(log, least) + 4) / 4);
  });
  return picture;
}

std::vector<double> normalized_window(std::span<const float> sound, int64_t window) {
  const auto count = static_cast<double>(window);
  const double mean = std::accumulate(sound.begin(), sound.end(), 0.0) / count;
  double squares = 0;
  for (const float sample : sound) squares += double{sample} * sample;
  const double scale = 1 / std::sqrt(squares / count - mean * mean + 1e-7);
  std::vector<double> samples(static_cast<size_t>(window), -mean * scale);
  std::ranges::transform(sound, samples.end() - std::ssize(sound),
                         [&](float sample) { return (sample - mean) * scale; });
  return samples;
}

}  // namespace predgen::ears
