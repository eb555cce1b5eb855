#pragma once

#include <cstddef>
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

}  // namespace predgen::ears
