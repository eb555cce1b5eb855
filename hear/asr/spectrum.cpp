#include "hear/asr/spectrum.h"

#include <cmath>
#include <numbers>

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

}  // namespace predgen::ears
