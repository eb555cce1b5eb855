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

/// What is logged meanwhile.
template <class Work>
std::string logged(const Work& work) {
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(log)));
  work();
  spdlog::set_default_logger(before);
  return log.str();
}

TEST(UsableKernels, ThoseThatCannotBeLoadedAreLeftOutWithOneLine) {
  GpuKernels kernels = emulated_kernels(ThreadOrder::kAscending);
  for (GpuSupport (*broken)(int) :
       {+[](int) { return kOldDriver; }, +[](int) { return kOtherGpu; }}) {
    kernels.support = broken;
    UsableKernels usable(&kernels);
    const std::string log = logged([&] {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(usable.on(0), nullptr);
      EXPECT_EQ(usable.with_groups_on(0), nullptr);
    });
    EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
    EXPECT_THAT(log, HasSubstr(kernel_problem(broken(0))));
  }
  UsableKernels none(nullptr);
  EXPECT_EQ(logged([&] { EXPECT_EQ(none.on(0), nullptr); }), "");
}

/// An RTX 2080 Ti beside an RTX 4090, and a GPU that nothing was compiled for.
TEST(UsableKernels, EachGpuIsAskedForItself) {
  GpuKernels kernels = emulated_kernels(ThreadOrder::kAscending);
  kernels.support = [](int device) {
    if (device == 2) return kOtherGpu;
    GpuSupport support = kFine;
    support.capability = device == 0 ? 75 : 89;
    return support;
  };
  UsableKernels usable(&kernels);
  EXPECT_EQ(usable.on(1), &kernels);
  EXPECT_EQ(usable.with_groups_on(1), &kernels);
  EXPECT_EQ(usable.on(0), &kernels);
  EXPECT_EQ(usable.with_groups_on(0), nullptr);
  EXPECT_NE(logged([&] { EXPECT_EQ(usable.on(2), nullptr); }), "");
}

}  // namespace
}  // namespace predgen
