#include "model/device_memory.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

struct Groups {
  /// A file below the root of the groups.
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder / "groups" / file;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text);
  }
  GroupMemory memory(const std::string& own) {
    write_file(folder / "own", own);
    return group_memory(folder / "own", folder / "groups");
  }
  const TemporaryFolder folder;
};

TEST(MemoryLeft, TheTightestGroupAboveBoundsIt) {
  Groups groups;
  groups.write("a/memory.max", "1000\n");
  groups.write("a/memory.current", "900\n");
  groups.write("a/memory.stat", "anon 300\nactive_file 250\ninactive_file 350\nslab 7\n");
  groups.write("a/b/memory.max", "max\n");
  groups.write("a/b/memory.current", "800\n");
  GroupMemory memory = groups.memory("0::/a/b\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.left, 1000 - 900 + 250 + 350) << "files make room";
  groups.write("memory.max", "2000\n");
  groups.write("memory.current", "1900\n");
  memory = groups.memory("0::/a/b\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.left, 100);
  groups.write("memory.current", "2100\n");
  EXPECT_EQ(groups.memory("0::/a/b\n").left, 0);
  EXPECT_EQ(groups.memory("0::/\n").limit, 2000);
}

TEST(MemoryLeft, GroupsOfTheFirstVersionCount) {
  Groups groups;
  groups.write("memory/a/memory.limit_in_bytes", "1000\n");
  groups.write("memory/a/memory.usage_in_bytes", "600\n");
  const GroupMemory memory = groups.memory("5:cpu:/c\n4:memory:/a/b\n0::/\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.left, 400);
}

TEST(MemoryLeft, WithoutGroupsThereIsNoBound) {
  Groups groups;
  for (const char* own : {"", "0::/a\n", "nonsense\n", "1:memory\n"}) {
    EXPECT_EQ(groups.memory(own).limit, kAny) << own;
    EXPECT_EQ(groups.memory(own).left, kAny) << own;
  }
}

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

TEST(MemoryRequests, APageThatIsTouchedFirstIsAFault) {
  constexpr size_t kSize = size_t{1} << 20, kPage = 4096;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kSize, MADV_NOHUGEPAGE);
  const auto faults_of_a_round = [&] {
    const int64_t before = memory_requests().page_faults;
    for (size_t place = 0; place < kSize; place += kPage) {
      static_cast<volatile char*>(memory)[place] = 1;
    }
    return memory_requests().page_faults - before;
  };
  EXPECT_GE(faults_of_a_round(), static_cast<int64_t>(kSize / kPage));
  EXPECT_LT(faults_of_a_round(), static_cast<int64_t>(kSize / kPage / 4));
  munmap(memory, kSize);
}

TEST(OutOfMemory, IsKnownByItsTypeOrTheWordsOfTheAllocator) {
  EXPECT_TRUE(is_out_of_memory(std::bad_alloc()));
  EXPECT_TRUE(is_out_of_memory(c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "full")));
  EXPECT_TRUE(is_out_of_memory(std::runtime_error(
      "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4503599627370496 bytes")));
  EXPECT_FALSE(is_out_of_memory(std::runtime_error("no weights in memory.safetensors")));
}

}  // namespace
}  // namespace predgen
