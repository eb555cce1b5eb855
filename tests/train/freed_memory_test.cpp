// In a program of its own, which links jemalloc as predgen does. Without waiting for pages to age:
// usually every free page goes back at once here, as it does after seconds in predgen.
#include "train/freed_memory.h"

#include <gtest/gtest.h>
#include <jemalloc/jemalloc.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace predgen::train {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

template <typename T>
void set_control(const std::string& name, T value) {
  ASSERT_EQ(mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value)), 0) << name;
}

size_t resident() {
  set_control("epoch", uint64_t{1});  // takes the statistics anew
  size_t bytes = 0, size = sizeof(bytes);
  EXPECT_EQ(mallctl("stats.resident", &bytes, &size, nullptr, 0), 0);
  return bytes;
}

/// A step on a batch of this length: blocks of several sizes live together, each is written.
void run_step(size_t length) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (const size_t width : {1, 3, 4, 8}) {
    const size_t size = length * width * kMiB / 8;
    blocks.push_back(std::make_unique_for_overwrite<char[]>(size));
    std::memset(blocks.back().get(), 1, size);
  }
}

/// Pages that the kernel had to give during steps of lengths up to 16.
int64_t faults_of_steps() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (size_t step = 0; step < 40; ++step) run_step(1 + step * 7 % 16);
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

class FreedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    set_control<ssize_t>("arenas.dirty_decay_ms", 0);
    set_control<ssize_t>("arena.0.dirty_decay_ms", 0);
    set_control<ssize_t>("arenas.muzzy_decay_ms", 0);
    set_control<ssize_t>("arena.0.muzzy_decay_ms", 0);
    unsigned arena = 0;
    set_control("thread.arena", arena);
  }
};

TEST_F(FreedMemoryTest, IsNotFaultedInAgain) {
  const int64_t usual = faults_of_steps();
  {
    const FreedMemory kept;
    run_step(16);
    run_step(16);
    EXPECT_LT(faults_of_steps() * 20, usual);
  }
  EXPECT_GT(faults_of_steps() * 2, usual);  // as it was before
}

TEST_F(FreedMemoryTest, IsBoundedByTheLongestBatch) {
  FreedMemory kept;
  run_step(16);
  kept.set_bound();
  const size_t bound = resident();
  const int64_t faults = faults_of_steps();
  kept.trim();
  EXPECT_LE(faults_of_steps(), faults + 100);  // what no step exceeds is not given back
  run_step(64);                                // as sizes that nothing free serves add up to
  ASSERT_GT(resident(), 2 * bound);
  kept.trim();
  EXPECT_LT(resident(), bound);
}

}  // namespace
}  // namespace predgen::train
