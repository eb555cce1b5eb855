#include "evaluate/memory_requests.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace predgen::evaluate {
namespace {

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

}  // namespace
}  // namespace predgen::evaluate
