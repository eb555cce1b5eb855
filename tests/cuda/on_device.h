#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "model/configure_math.h"
#include "model/gpu/cuda_module.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// Tests that run on each of devices(). Without a GPU those on "cuda" are skipped by name, and fail
/// where PREDGEN_REQUIRE_CUDA=1 says that there is one.
class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    configure_math();
    const bool is_there = has_cuda();  // before LibTorch is asked for anything on CUDA
    if (std::string(GetParam()) != "cuda" || is_there) return;
    const char* required = std::getenv("PREDGEN_REQUIRE_CUDA");
    if (required && std::string(required) == "1") {
      FAIL() << "PREDGEN_REQUIRE_CUDA=1, but no CUDA GPU is visible: " << cuda_support().problem;
    }
    GTEST_SKIP() << "no CUDA GPU is visible";
  }
  static at::Device device() { return at::Device(GetParam()); }
};

inline auto devices() { return testing::Values("cpu", "cuda"); }
inline std::string device_name(const testing::TestParamInfo<const char*>& info) {
  return info.param;
}

/// Between the likeliest and the second choice: what is nearer, rounding may decide, and devices
/// round differently.
constexpr double kMargin = 1e-3;

inline double largest(const at::Tensor& difference) {
  return difference.abs().max().item<double>();
}

inline at::Tensor random_ids(int64_t below, at::IntArrayRef sizes, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randint(0, below, sizes, generator, at::kLong);
}

}  // namespace predgen
