#include "evaluate/gpu_energy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

// In CUDA's place; libnvidia-ml.so.1 is fake_nvml.cpp, which this test's library path has first.
extern "C" int cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  std::snprintf(bus_id, static_cast<size_t>(length), "0000:%02X:00.0", 0x3B + device);
  return 0;
}

namespace predgen::evaluate {
namespace {

TEST(GpuEnergy, CountsOnTheGpuThatCudaMeans) {
  const auto energy = make_energy_counter(c10::Device(c10::kCUDA, 1));
  ASSERT_TRUE(energy);
  const double before = energy().value();
  EXPECT_DOUBLE_EQ(energy().value() - before,
                   2.5);  // the fake's GPU at 3C uses so much between readings
  setenv("FAKE_NVML_ERROR", "15", 1);
  EXPECT_FALSE(energy());
  unsetenv("FAKE_NVML_ERROR");
}

TEST(GpuEnergy, IsNotMeasuredWhereNothingCounts) {
  EXPECT_FALSE(make_energy_counter(c10::Device(c10::kCPU)));
  EXPECT_FALSE(make_energy_counter(c10::Device(c10::kCUDA, 7))) << "NVML knows no GPU at 42";
  setenv("FAKE_NVML_ERROR", "3", 1);  // not supported
  EXPECT_FALSE(make_energy_counter(c10::Device(c10::kCUDA, 0)));
  unsetenv("FAKE_NVML_ERROR");
}

}  // namespace
}  // namespace predgen::evaluate
