#include "runtime/engine/baton.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "core/error.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

TEST(Baton, GoesToOneThreadAtATimeInTheOrderOfAsking) {
  Baton baton;
  std::string order;
  bool is_busy = false;
  std::vector<std::function<void()>> work;
  for (const char name : {'a', 'b', 'c'}) {
    work.emplace_back([&, name] {
      for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(std::exchange(is_busy, true));
        order += name;
        std::this_thread::yield();
        is_busy = false;
        const Baton::Rest rest(baton);  // behind the others
      }
    });
  }
  run_queued(baton, work);
  EXPECT_EQ(order.substr(0, 3), "abc");
  EXPECT_EQ(order.size(), 6u);
  EXPECT_EQ(baton.num_waiting(), 0);
}

TEST(Baton, CommonWorkIsDoneWhenNobodyCanAddToIt) {
  Baton baton;
  int asked = 0, rounds = 0, done = 0;
  std::vector<int> asked_at_work;
  const auto take_part = [&] {
    for (int i = 0; i < 3; ++i) {
      ++asked;
      const int mine = rounds;
      baton.wait([&, mine] { return rounds > mine; },
                 [&] {
                   EXPECT_TRUE(baton.is_held_here());
                   asked_at_work.push_back(std::exchange(asked, 0));
                   ++rounds;
                 });
      EXPECT_TRUE(baton.is_held_here());
      ++done;
    }
  };
  run_queued(baton, {take_part, take_part, take_part, take_part});
  EXPECT_EQ(asked_at_work, (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(done, 12);
}

/// Two threads of one client ask again and again while another one waits for common work.
TEST(Baton, AskingHoldsNobodyUp) {
  constexpr int kPatience = 2000;
  Baton baton;
  bool is_done = false;
  int asked = 0;  // while it was waited for
  std::vector<std::function<void()>> work{
      [&] { baton.wait([&] { return is_done; }, [&] { is_done = true; }); }};
  for (int i = 0; i < 2; ++i) {
    work.emplace_back([&] {
      const Baton::Rest rest(baton);
      for (bool goes_on = true; goes_on && asked < kPatience;) {
        const Baton::Hold hold(baton, "one");
        asked += !is_done;
        goes_on = !is_done;
      }
    });
  }
  run_queued(baton, work);
  EXPECT_LE(asked, Baton::kShare);
}

TEST(Baton, GoesToTheClientThatHadItLeast) {
  Baton baton;
  std::string order;
  std::vector<std::jthread> threads;
  {
    const Baton::Hold hold(baton, "elsewhere");
    for (const char* client : {"a", "a", "a", "b", "c", "b"}) {
      const int64_t before = baton.num_waiting();
      threads.emplace_back([&, client] {
        const Baton::Hold own(baton, client);
        EXPECT_EQ(baton.client(), client);
        order += client;
      });
      while (baton.num_waiting() == before) std::this_thread::yield();
    }
  }
  threads.clear();
  EXPECT_EQ(order, "abcaba");
}

TEST(Baton, WhoRestsIsTheSameClientAfterwards) {
  Baton baton;
  const Baton::Hold hold(baton, "a");
  { const Baton::Rest rest(baton); }
  EXPECT_EQ(baton.client(), "a");
}

TEST(Baton, WhoRestsHoldsNobodyUp) {
  Baton baton;
  bool is_over = false;
  std::atomic<bool> may_go_on = false;
  run_queued(baton, {[&] {
                       const Baton::Rest rest(baton);
                       while (!may_go_on) std::this_thread::yield();
                     },
                     [&] {
                       baton.wait([&] { return is_over; }, [&] { is_over = true; });
                       may_go_on = true;
                     }});
  EXPECT_TRUE(is_over);
}

TEST(Baton, RefusesASecondHoldAndAWaitWithoutOne) {
  Baton baton;
  EXPECT_THROW(baton.wait([] { return true; }, [] {}), Error);
  const Baton::Hold hold(baton);
  EXPECT_THROW(const Baton::Hold second(baton), Error);
}

}  // namespace
}  // namespace predgen
