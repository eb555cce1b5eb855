#include "model/gpu/gpu_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sstream>

#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

using testing::HasSubstr;

constexpr GpuSupport kOldDriver{12'040, 13'000, "CUDA driver version is insufficient"};
constexpr GpuSupport kOtherGpu{13'000, 13'000, "no kernel image is available"};
constexpr GpuSupport kFine{13'010, 13'000, nullptr};

TEST(GpuSupport, SaysWhichDriverThereIsAndWhichIsNeeded) {
  EXPECT_EQ(driver_problem(kOldDriver),
            "the NVIDIA driver here is for CUDA 12.4, one for CUDA 13.0 is needed");
  EXPECT_EQ(driver_problem({0, 13'000, "x"}),
            "there is no NVIDIA driver here, one for CUDA 13.0 is needed");
  EXPECT_EQ(driver_problem(kOtherGpu), "");
  EXPECT_EQ(driver_problem({13'000, 13'020, "x"}), "");  // it runs all of its major version
  EXPECT_THAT(kernel_problem(kOldDriver), HasSubstr(driver_problem(kOldDriver)));
  EXPECT_THAT(kernel_problem(kOtherGpu), HasSubstr("PREDGEN_CUDA_ARCHITECTURES"));
  EXPECT_EQ(kernel_problem(kFine), "");
}

/// What usable_kernels() gives for them, and what it logs.
std::pair<const GpuKernels*, std::string> chosen_of(const GpuKernels* compiled) {
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(log)));
  const GpuKernels* kernels = usable_kernels(compiled);
  spdlog::set_default_logger(before);
  return {kernels, log.str()};
}

TEST(GpuSupport, KernelsThatCannotBeLoadedAreLeftOutWithOneLine) {
  GpuKernels kernels = emulated_kernels(ThreadOrder::kAscending);
  for (GpuSupport (*broken)() : {+[] { return kOldDriver; }, +[] { return kOtherGpu; }}) {
    kernels.support = broken;
    const auto [chosen, log] = chosen_of(&kernels);
    EXPECT_EQ(chosen, nullptr);
    EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
    EXPECT_THAT(log, HasSubstr(kernel_problem(broken())));
  }
  kernels.support = [] { return kFine; };
  EXPECT_EQ(chosen_of(&kernels),
            std::pair(static_cast<const GpuKernels*>(&kernels), std::string()));
  EXPECT_EQ(chosen_of(nullptr), std::pair(static_cast<const GpuKernels*>(nullptr), std::string()));
}

}  // namespace
}  // namespace predgen
