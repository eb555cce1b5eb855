#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace predgen::ears {

/// The picture of sound that Whisper's encoders see, and smart-turn with them: the logarithms of
/// the energies in kBands bands of frequency, a column for each 10 ms. As transformers'
/// WhisperFeatureExtractor makes it of the window, with the samples brought to mean 0 and
/// variance 1 before.
class LogMel {
 public:
  static constexpr int64_t kBands = 80;

  LogMel();

  /// `sound`: at kRate, at most `window` samples; zeros come in front of it up to that. Returns
  /// [kBands, window / 160]. `window` is a multiple of 160, and 400 at least.
  std::vector<float> operator()(std::span<const float> sound, int64_t window) const;

 private:
  struct Band {
    int64_t begin;                // the first bin of the spectrum that it has a part of
    std::vector<double> weights;  // of that bin and those behind it
  };
  std::vector<Band> bands_;
  std::vector<double> hann_;
};

}  // namespace predgen::ears
