#include "hear/transcripts/transcript_queue.h"

#include <gtest/gtest.h>

#include <future>

#include "core/error.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {
namespace {

struct Queue : testing::Test {
  ManualClock clock;
  TranscriptQueue queue{clock};
};

TEST_F(Queue, AFinalOneIsTakenBeforeTheNextTurnsWords) {
  queue.push("one", false);
  queue.push("one two", false);  // overtakes
  clock.set(1);
  queue.push("one two", true);
  queue.push("three", false);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.latest(Seconds(1))->text, "one two") << "never past a final one";
  const auto final = queue.take(0, {});
  EXPECT_TRUE(final->is_final);
  EXPECT_EQ(final->revision, 3);
  EXPECT_EQ(final->time, Seconds(1));
  const auto next = queue.take(final->revision, {});
  EXPECT_EQ(next->text, "three");
  EXPECT_EQ(next->revision, 4);
  EXPECT_EQ(queue.latest(Seconds(1))->text, "three") << "stays until it is overtaken";
  EXPECT_FALSE(queue.latest(Seconds(0.5))) << "has not arrived yet";
}

TEST_F(Queue, WhatIsAnnouncedArrivesInItsTimeUnlessSomethingComesBefore) {
  queue.push("one", false);
  queue.push_at(Seconds(2), "one two");
  EXPECT_EQ(queue.latest(clock.now())->text, "one");
  clock.set(3);
  EXPECT_EQ(queue.latest(clock.now())->text, "one two");
  EXPECT_EQ(queue.latest(clock.now())->time, Seconds(2));
  EXPECT_TRUE(queue.latest(clock.now())->is_stable);
  EXPECT_EQ(queue.settle(), "one two");
  queue.push_at(Seconds(4), "one two three");
  queue.push("one too", false);
  clock.set(5);
  EXPECT_EQ(queue.settle(), "one too");
  queue.push_at(Seconds(6), "never");
  EXPECT_EQ(queue.settle(), "one too") << "its time has not come";
  clock.set(7);
  EXPECT_EQ(queue.latest(clock.now())->text, "one too");
}

TEST_F(Queue, BreaksAndTheEndComeAfterWhatIsFinal) {
  queue.push("sent", true);
  queue.push("half", false);
  queue.push_break();
  EXPECT_EQ(queue.settle(), "");
  queue.push("heard", false);
  queue.end(std::make_exception_ptr(Error("lost")));
  queue.push("too late", true);
  EXPECT_TRUE(queue.take(0, {})->is_final);
  EXPECT_FALSE(queue.take(0, {}));
  const auto heard = queue.take(0, {});
  EXPECT_EQ(heard->text, "heard");
  EXPECT_THROW(queue.take(heard->revision, {}), Error);
}

TEST_F(Queue, AStopTakesNothing) {
  queue.push("sent", true);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(queue.take(0, stop.get_token()), Interrupted);
  EXPECT_EQ(queue.size(), 1u);
  queue.drop_final();
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(Queue, WaitsForRoom) {
  for (int i = 0; i < 3; ++i) queue.push("turn", true);
  auto room = std::async(std::launch::async, [&] { queue.wait_for_room(3, {}); });
  EXPECT_EQ(room.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_TRUE(queue.take(0, {}));
  room.get();
  EXPECT_EQ(queue.size(), 2u);
}

}  // namespace
}  // namespace predgen
