#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace predgen::ears {

/// The energy spectrum of frames whose size has small prime factors, by the Cooley-Tukey FFT. Used
/// by one thread at a time.
class Spectrum {
 public:
  explicit Spectrum(size_t size);

  /// `frame` has `size` samples, `energies` size / 2 + 1 places.
  void energies(std::span<const double> frame, std::span<double> energies);

 private:
  struct Number {  // complex
    double real = 0, imaginary = 0;
  };
  void transform(const double* frame, size_t stride, Number* result, size_t size);

  std::vector<Number> roots_;  // of one: root k is exp(-2 pi i k / size)
  std::vector<Number> result_;
  std::vector<Number> parts_;
};

/// The log-mel spectrogram that Whisper's encoders and smart-turn take: the logarithms of the
/// energies in frequency bands, a column for each 10 ms, as transformers' WhisperFeatureExtractor
/// makes it.
class LogMel {
 public:
  explicit LogMel(int64_t num_bands = 80);

  int64_t num_bands() const { return std::ssize(bands_); }
  /// `samples`: at kRate, 201 at least. Returns [num_bands, samples / 160].
  std::vector<float> operator()(std::span<const double> samples) const;

 private:
  struct Band {
    int64_t begin;                // the first bin of the spectrum that it covers
    std::vector<double> weights;  // of that bin and the following ones
  };
  std::vector<Band> bands_;
  std::vector<double> hann_;
};

/// `sound`, at most `window` samples, padded to that with leading zeros, then normalised to mean 0
/// and variance 1: do_normalize of that feature extractor.
std::vector<double> normalized_window(std::span<const float> sound, int64_t window);

}  // namespace predgen::ears
