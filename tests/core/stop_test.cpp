#include "core/stop.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "core/error.h"
#include "tests/fakes/pipe.h"

namespace predgen {
namespace {

TEST(StoppablePoll, ReturnsWhenTheDescriptorIsReady) {
  Pipe pipe;
  const StoppablePoll poll{std::stop_source().get_token()};
  poll.wait(pipe.in(), POLLOUT);
  pipe.send("x");
  poll.wait(pipe.out(), POLLIN);
  pipe.end();
  char byte = 0;
  ASSERT_EQ(read(pipe.out(), &byte, 1), 1);
  poll.wait(pipe.out(), POLLIN);  // nobody writes any more, which read() says
}

TEST(StoppablePoll, AStopEndsAWaitThatWouldNotEnd) {
  alarm(60);  // ends a test that hangs
  Pipe pipe;
  std::stop_source source;
  const StoppablePoll poll(source.get_token());
  const std::jthread stopper([&] { source.request_stop(); });
  EXPECT_THROW(poll.wait(pipe.out(), POLLIN), Interrupted);
  alarm(0);
}

TEST(StoppablePoll, AStopFromBeforeIsSeenAndComesFirst) {
  Pipe pipe;
  pipe.send("x");
  std::stop_source source;
  source.request_stop();
  EXPECT_THROW(StoppablePoll(source.get_token()).wait(pipe.out(), POLLIN), Interrupted);
}

TEST(StoppablePoll, WithoutAStopThatCanComeItOnlyPolls) {
  Pipe pipe;
  StoppablePoll(std::stop_token()).wait(pipe.in(), POLLOUT);
}

}  // namespace
}  // namespace predgen
