#include "serve/realtime/session_inbox.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "core/error.h"
#include "tests/fakes/manual_clock.h"

namespace predgen::serve {
namespace {

/// A turn is stopped, and the next one's final transcript comes at once, while a session that was
/// woken still waits for the baton.
TEST(SessionInbox, AStoppedTurnTakesNoFinalTranscript) {
  Baton baton;
  ManualClock clock;
  SessionInbox inbox(baton, clock);
  std::promise<void> begun;
  auto turn = std::async(std::launch::async, [&] {
    const Baton::Hold hold(baton);
    inbox.begin_turn(/*is_stopped=*/false);
    begun.set_value();
    return inbox.wait_newer(0, clock);
  });
  begun.get_future().wait();
  {
    const Baton::Hold hold(baton);  // it rests
    inbox.hear("words");
    while (baton.num_waiting() == 0) std::this_thread::yield();
    inbox.stop_turn();
    inbox.ask("words that end");
  }
  ASSERT_THROW(turn.get(), Interrupted);
  const Baton::Hold hold(baton);
  inbox.begin_turn(/*is_stopped=*/false);
  EXPECT_TRUE(inbox.wait_newer(0, clock)->is_final) << "the next turn's";
}

TEST(SessionInbox, WhatComesWhileItsSessionWaitsForTheBatonIsTaken) {
  Baton baton;
  ManualClock clock;
  SessionInbox inbox(baton, clock);
  std::promise<void> begun;
  auto turn = std::async(std::launch::async, [&] {
    const Baton::Hold hold(baton);
    inbox.begin_turn(/*is_stopped=*/false);
    begun.set_value();
    return inbox.wait_newer(0, clock);
  });
  begun.get_future().wait();
  {
    const Baton::Hold hold(baton);
    inbox.hear("one");
    while (baton.num_waiting() == 0) std::this_thread::yield();
    inbox.hear("one two");
  }
  EXPECT_EQ(turn.get()->text, "one two");
}

}  // namespace
}  // namespace predgen::serve
