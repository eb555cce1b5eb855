#include "hear/queued_turns.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/error.h"
#include "hear/transcripts/scheduled_source.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {
namespace {

TEST(QueuedTurns, WhatWaitedCountsFromWhenItWasAskedFor) {
  ManualClock clock;
  ScheduledSource lines({{.text = "one", .time = Seconds(0), .is_final = true},
                         {.text = "two", .time = Seconds(0), .is_final = true},
                         {.text = "th", .time = Seconds(20)},
                         {.text = "three", .time = Seconds(30), .is_final = true}});
  QueuedTurns turns(lines);
  clock.set(2);
  EXPECT_EQ(turns.wait_newer(0, clock)->time, Seconds(2));
  clock.set(5);  // the answer took its time
  const auto second = turns.wait_newer(0, clock);
  EXPECT_EQ(second->text, "two");
  EXPECT_EQ(second->time, Seconds(5));
  EXPECT_EQ(turns.wait_newer(second->revision, clock)->time, Seconds(20));
  clock.set(40);  // a draft was under way when the turn ended
  EXPECT_EQ(turns.wait_newer(3, clock)->time, Seconds(30));
  EXPECT_FALSE(turns.wait_newer(4, clock));
}

TEST(QueuedTurns, ATurnThatIsBrokenOffIsOver) {
  struct Source : ScheduledSource {
    using ScheduledSource::ScheduledSource;
    std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override {
      if (std::exchange(fails, false)) throw Interrupted();
      return ScheduledSource::wait_newer(revision, clock);
    }
    bool fails = true;
  };
  ManualClock clock;
  Source lines({{.text = "one", .time = Seconds(0), .is_final = true}});
  QueuedTurns turns(lines);
  EXPECT_THROW(turns.wait_newer(0, clock), Interrupted);
  clock.set(5);
  EXPECT_EQ(turns.wait_newer(0, clock)->time, Seconds(5));
}

}  // namespace
}  // namespace predgen
