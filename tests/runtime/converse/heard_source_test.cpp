#include "runtime/converse/heard_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "core/error.h"

namespace predgen {
namespace {

/// A clock that lets a test do something where it is read.
struct WatchedClock : Clock {
  Seconds now() const override {
    if (on_read) on_read();
    return Seconds(0);
  }
  void sleep_until(Seconds) override {}
  std::function<void()> on_read;
};

/// A turn is stopped, and the next one's final transcript comes at once, just when a session that
/// was woken looks at what there is.
TEST(HeardSource, AStoppedTurnTakesNoFinalTranscript) {
  Baton baton;
  WatchedClock clock;
  HeardSource source(baton, clock);
  std::stop_source stop;
  source.begin_turn(stop.get_token());
  std::promise<void> begun;
  auto turn = std::async(std::launch::async, [&] {
    const Baton::Hold hold(baton);
    begun.set_value();
    return source.wait_newer(0, clock);
  });
  begun.get_future().wait();
  std::optional<Baton::Hold> held(std::in_place, baton);  // it rests
  source.push("words", /*is_final=*/false);
  while (baton.num_waiting() == 0) std::this_thread::yield();
  clock.on_read = [&] {
    held.reset();  // it goes on to the lock, which push() holds
    for (int i = 0; i < 100'000; ++i) std::this_thread::yield();
    stop.request_stop();
  };
  source.push("words that end", /*is_final=*/true);
  ASSERT_THROW(turn.get(), Interrupted);
  const Baton::Hold hold(baton);
  source.begin_turn({});
  EXPECT_TRUE(source.wait_newer(0, clock)->is_final) << "the next turn's";
}

}  // namespace
}  // namespace predgen
