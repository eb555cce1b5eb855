#include "runtime/engine/engine_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "core/error.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

TEST(EngineLock, GoesToOneThreadAtATimeInTheOrderOfAsking) {
  EngineLock engine_lock;
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
        const EngineLock::Release rest(engine_lock);  // behind the others
      }
    });
  }
  run_queued(engine_lock, work);
  EXPECT_EQ(order.substr(0, 3), "abc");
  EXPECT_EQ(order.size(), 6u);
  EXPECT_EQ(engine_lock.num_waiting(), 0);
}

TEST(EngineLock, CommonWorkIsDoneWhenNobodyCanAddToIt) {
  EngineLock engine_lock;
  int asked = 0, rounds = 0, done = 0;
  std::vector<int> asked_at_work;
  const auto take_part = [&] {
    for (int i = 0; i < 3; ++i) {
      ++asked;
      const int mine = rounds;
      engine_lock.wait([&, mine] { return rounds > mine; },
                       [&] {
                         EXPECT_TRUE(engine_lock.is_held_here());
                         asked_at_work.push_back(std::exchange(asked, 0));
                         ++rounds;
                       });
      EXPECT_TRUE(engine_lock.is_held_here());
      ++done;
    }
  };
  run_queued(engine_lock, {take_part, take_part, take_part, take_part});
  EXPECT_EQ(asked_at_work, (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(done, 12);
}

/// Two threads of one client ask again and again while another one waits for common work.
TEST(EngineLock, AskingHoldsNobodyUp) {
  constexpr int kPatience = 2000;
  EngineLock engine_lock;
  bool is_done = false;
  int asked = 0;  // while it was waited for
  std::vector<std::function<void()>> work{
      [&] { engine_lock.wait([&] { return is_done; }, [&] { is_done = true; }); }};
  for (int i = 0; i < 2; ++i) {
    work.emplace_back([&] {
      const EngineLock::Release rest(engine_lock);
      for (bool goes_on = true; goes_on && asked < kPatience;) {
        const EngineLock::Hold hold(engine_lock, "one");
        asked += !is_done;
        goes_on = !is_done;
      }
    });
  }
  run_queued(engine_lock, work);
  EXPECT_LE(asked, EngineLock::kShare);
}

TEST(EngineLock, GoesToTheClientThatHadItLeast) {
  EngineLock engine_lock;
  std::string order;
  std::vector<std::jthread> threads;
  {
    const EngineLock::Hold hold(engine_lock, "elsewhere");
    for (const char* client : {"a", "a", "a", "b", "c", "b"}) {
      const int64_t before = engine_lock.num_waiting();
      threads.emplace_back([&, client] {
        const EngineLock::Hold own(engine_lock, client);
        EXPECT_EQ(engine_lock.client(), client);
        order += client;
      });
      while (engine_lock.num_waiting() == before) std::this_thread::yield();
    }
  }
  threads.clear();
  EXPECT_EQ(order, "abcaba");
}

TEST(EngineLock, WhoRestsIsTheSameClientAfterwards) {
  EngineLock engine_lock;
  const EngineLock::Hold hold(engine_lock, "a");
  { const EngineLock::Release rest(engine_lock); }
  EXPECT_EQ(engine_lock.client(), "a");
}

TEST(EngineLock, WhoRestsHoldsNobodyUp) {
  EngineLock engine_lock;
  bool is_over = false;
  std::atomic<bool> may_go_on = false;
  run_queued(engine_lock, {[&] {
                             const EngineLock::Release rest(engine_lock);
                             while (!may_go_on) std::this_thread::yield();
                           },
                           [&] {
                             engine_lock.wait([&] { return is_over; }, [&] { is_over = true; });
                             may_go_on = true;
                           }});
  EXPECT_TRUE(is_over);
}

TEST(EngineLock, RefusesASecondHoldAndAWaitWithoutOne) {
  EngineLock engine_lock;
  EXPECT_THROW(engine_lock.wait([] { return true; }, [] {}), Error);
  const EngineLock::Hold hold(engine_lock);
  EXPECT_THROW(const EngineLock::Hold second(engine_lock), Error);
}

}  // namespace
}  // namespace predgen
