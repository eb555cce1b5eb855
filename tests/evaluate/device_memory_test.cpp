#include "evaluate/device_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace predgen::evaluate {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20, kGiB = int64_t{1} << 30;

TEST(BandwidthBuffer, IsFarLargerThanTheCacheAndFits) {
  EXPECT_EQ(bandwidth_buffer_bytes(0, 64 * kGiB), 512 * kMiB);
  EXPECT_EQ(bandwidth_buffer_bytes(32 * kMiB, 64 * kGiB), 512 * kMiB);
  EXPECT_EQ(bandwidth_buffer_bytes(480 * kMiB, 64 * kGiB), 1920 * kMiB);
  EXPECT_EQ(bandwidth_buffer_bytes(480 * kMiB, 4 * kGiB), 1 * kGiB);
}

TEST(FreeMemory, CountsWhatThisProcessHasAndNoMoreThanThereIs) {
  EXPECT_GT(free_memory(c10::kCPU), resident_bytes());
  EXPECT_LE(free_memory(c10::kCPU), memory_size(c10::kCPU));
}

TEST(PeakMemory, GrowsWithWhatIsTouchedAndStays) {
  const PeakMemory before = peak_memory(c10::kCPU);
  EXPECT_GT(before.process, kMiB);
  EXPECT_FALSE(before.device);
  {
    std::vector<char> large(static_cast<size_t>(before.process) + 64 * kMiB, 1);
    EXPECT_EQ(large.back(), 1);
  }
  const int64_t after = peak_memory(c10::kCPU).process;
  EXPECT_GE(after, before.process + 64 * kMiB);
  EXPECT_EQ(peak_memory(c10::kCPU).process, after);
}

}  // namespace
}  // namespace predgen::evaluate
