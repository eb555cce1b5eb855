#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>

namespace predgen {

/// Standard normal, float32, on the CPU.
inline at::Tensor normal(at::IntArrayRef sizes, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::empty(sizes, at::kFloat).normal_(0.0, 1.0, generator);
}

/// ||found - expected|| / ||expected||, in float32.
inline double relative(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor exact = expected.to(at::kCPU, at::kFloat);
  return ((found.to(at::kCPU, at::kFloat) - exact).norm() / exact.norm()).item<double>();
}

}  // namespace predgen
