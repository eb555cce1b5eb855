#include "tests/fakes/engine_clock.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

using Trace = std::vector<std::pair<std::string, double>>;

/// Threads that sleep and run passes of one second, and say when they went on.
struct Threads {
  Threads() {
    engine.observe_passes([this](const PassSize&) { clock.advance(Seconds(1)); });
  }

  void say(const std::string& what) { trace.emplace_back(what, clock.now().count()); }
  void sleep_until(double time, const std::string& name) {
    clock.sleep_until(Seconds(time));
    say(name);
  }
  void pass(Sequence& sequence, const std::string& name) {
    engine.run({.sequence = &sequence});
    sequence.append(TokenIds{1});
    say(name);
  }

  EngineLock engine_lock;
  EngineClock clock{engine_lock};
  FakeLanguageModel model{{}};
  Engine engine = borrowing_engine(model, {.engine_lock = &engine_lock});
  Trace trace;
};

TEST(EngineClock, WakesSleepersInTheOrderOfTheirTimes) {
  Threads all;
  run_queued(all.engine_lock, {[&] {
                                 all.sleep_until(3, "a");
                                 all.sleep_until(2, "a");  // is past
                                 all.sleep_until(5, "a");
                               },
                               [&] { all.sleep_until(4, "b"); }, [&] { all.sleep_until(4, "c"); }});
  EXPECT_EQ(all.trace, (Trace{{"a", 3}, {"a", 3}, {"b", 4}, {"c", 4}, {"a", 5}}));
}

TEST(EngineClock, StandsStillWhileAPassIsWanted) {
  Threads all;
  run_queued(all.engine_lock, {[&] {
                                 all.sleep_until(1.5, "sleeper");
                                 all.sleep_until(9, "sleeper");
                               },
                               [&] {
                                 Sequence sequence = sequence_of(all.engine, TokenIds{1}, 64);
                                 for (int i = 0; i < 3; ++i) all.pass(sequence, "pass");
                                 all.sleep_until(7, "passes");
                               }});
  EXPECT_EQ(
      all.trace,
      (Trace{
          {"pass", 1}, {"pass", 2}, {"sleeper", 2}, {"pass", 3}, {"passes", 7}, {"sleeper", 9}}));
}

/// Who wakes within a pass asks for the next one together with those who were in it.
TEST(EngineClock, PassesAreSharedByThoseWhoAreAwake) {
  Threads all;
  std::vector<std::function<void()>> work;
  for (int i = 0; i < 3; ++i) {
    work.emplace_back([&all, i] {
      all.clock.sleep_until(Seconds(0.4 * i));
      Sequence sequence = sequence_of(all.engine, TokenIds{1}, 64);
      for (int j = 0; j < 3; ++j) all.pass(sequence, std::to_string(i));
    });
  }
  run_queued(all.engine_lock, work);
  EXPECT_EQ(all.engine.num_forward_passes(), 4);
  EXPECT_EQ(all.clock.now(), Seconds(4));
}

TEST(EngineClock, TheSameThreadsGiveTheSameTimes) {
  const auto traced = [] {
    Threads all;
    std::vector<std::function<void()>> work;
    for (uint64_t i = 0; i < 6; ++i) {
      work.emplace_back([&all, i] {
        Random random(1, "threads", i);
        Sequence sequence = sequence_of(all.engine, TokenIds{1}, 64);
        for (int j = 0; j < 20; ++j) {
          if (random.below(2) == 0) {
            all.pass(sequence, std::to_string(i));
          } else {
            all.sleep_until(all.clock.now().count() + 3 * random.uniform(), std::to_string(i));
          }
        }
      });
    }
    run_queued(all.engine_lock, work);
    return all.trace;
  };
  const Trace first = traced();
  EXPECT_EQ(first.size(), 120u);
  for (size_t i = 1; i < first.size(); ++i) EXPECT_GE(first[i].second, first[i - 1].second);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(traced(), first);
}

}  // namespace
}  // namespace predgen
