#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/threads/thread_team.h"

namespace predgen {
namespace {

class ParallelRanges : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { at::set_num_threads(GetParam()); }
  void TearDown() override { at::set_num_threads(before_); }

  const int before_ = at::get_num_threads();
};
INSTANTIATE_TEST_SUITE_P(, ParallelRanges, testing::Values(1, 2, 5),
                         testing::PrintToStringParamName());

TEST_P(ParallelRanges, EachIndexOnce) {
  for (const int64_t count : {0, 1, 2, 7, 40, 1001}) {
    for (const int64_t grain : {1, 3, 500, 5000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++calls[static_cast<size_t>(i)];
      });
      for (const auto& number : calls) ASSERT_EQ(number, 1) << count << " by " << grain;
    }
  }
}

/// Each of as many threads waits in its part until all have begun one.
TEST_P(ParallelRanges, RunsOnThatManyThreads) {
  std::atomic<int> begun = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_ranges(GetParam(), 1, [&](int64_t, int64_t) {
    ++begun;
    while (begun < GetParam() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), static_cast<size_t>(GetParam()));
}

TEST_P(ParallelRanges, WithinItself) {
  std::atomic<int64_t> sum = 0;
  parallel_ranges(20, 1, [&](int64_t begin, int64_t end) {
    parallel_ranges(end - begin, 1, [&](int64_t first, int64_t last) { sum += last - first; });
  });
  EXPECT_EQ(sum, 20);
}

TEST_P(ParallelRanges, AnExceptionReachesTheCallerAndEndsTheRest) {
  constexpr int64_t kCount = 1000;
  std::atomic<int64_t> done = 0;
  const auto fail_at = [&](int64_t place) {
    parallel_ranges(kCount, 1, [&](int64_t begin, int64_t end) {
      if (begin <= place && place < end) throw std::runtime_error("planted");
      done += end - begin;
    });
  };
  EXPECT_THROW(fail_at(0), std::runtime_error);
  EXPECT_LT(done, kCount);
  done = 0;
  fail_at(kCount);  // nowhere; the team is whole
  EXPECT_EQ(done, kCount);
}

TEST_P(ParallelRanges, FromSeveralThreadsAtOnce) {
  std::atomic<int64_t> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        for (int run = 0; run < 50; ++run) {
          parallel_ranges(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
        }
      });
    }
  }
  EXPECT_EQ(sum, 3 * 50 * 100);
}

}  // namespace
}  // namespace predgen
