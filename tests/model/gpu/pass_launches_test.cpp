#include "model/gpu/pass_launches.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

PassKind kind_of(int64_t num_tokens) { return {.num_tokens = num_tokens, .num_logits = 1}; }

struct FakeGraphs {
  int num_captures = 0, num_replays = 0, num_alive = 0;
  bool is_full = false;

  GraphCapture capture() {
    return [this](const PassWork& work) -> PassWork {
      if (is_full) throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "full");
      ++num_captures, ++num_alive;
      const std::shared_ptr<void> alive(nullptr, [this](void*) { --num_alive; });
      return [this, work, alive] { return ++num_replays, work(); };
    };
  }
};

TEST(PassGraphs, AKindIsCapturedOnce) {
  FakeGraphs fake;
  PassGraphs graphs(fake.capture());
  const at::Tensor five = at::full({}, 5);
  graphs.prepare(kind_of(2), [&] { return five; });
  EXPECT_EQ(fake.num_replays, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(graphs.run(kind_of(2), [&] { return five; }).is_same(five));
  }
  EXPECT_EQ(fake.num_captures, 1);
  EXPECT_EQ(fake.num_replays, 3);
}

TEST(PassGraphs, ThoseThatWereNotUsedLongestGo) {
  FakeGraphs fake;
  PassGraphs graphs(fake.capture());
  const PassWork work = [] { return at::zeros({1}); };
  constexpr auto kMost = static_cast<int64_t>(PassGraphs::kMost);
  for (int64_t i = 0; i < kMost; ++i) graphs.run(kind_of(i), work);
  graphs.run(kind_of(0), work);
  graphs.run(kind_of(kMost), work);  // in the place of 1
  EXPECT_EQ(fake.num_alive, kMost);
  EXPECT_EQ(fake.num_captures, kMost + 1);
  graphs.run(kind_of(0), work);
  EXPECT_EQ(fake.num_captures, kMost + 1);
  graphs.run(kind_of(1), work);
  EXPECT_EQ(fake.num_captures, kMost + 2);
  EXPECT_EQ(fake.num_alive, kMost);
}

TEST(PassGraphs, WithoutMemoryForAGraphTheWorkIsRunWithoutOne) {
  FakeGraphs fake{.is_full = true};
  PassGraphs graphs(fake.capture());
  int num_runs = 0;
  const PassWork work = [&] { return at::full({}, ++num_runs); };
  EXPECT_FALSE(graphs.prepare(kind_of(1), work));
  EXPECT_EQ(graphs.run(kind_of(1), work).item<int>(), 1);
  fake.is_full = false;
  EXPECT_EQ(graphs.run(kind_of(1), work).item<int>(), 2);  // which is not tried at every pass
  EXPECT_EQ(fake.num_captures, 0);
  graphs.run(kind_of(2), work);
  EXPECT_EQ(fake.num_captures, 1);
}

}  // namespace
}  // namespace predgen
