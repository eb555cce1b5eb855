#include "serve/http/send_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace predgen::serve {
namespace {

using testing::ElementsAre;

/// A connection that writes when the test says so.
class SendQueueTest : public testing::Test {
 protected:
  /// What its thread has to do.
  void run() {
    context_.restart();
    context_.poll();
  }

  boost::asio::io_context context_{1};
  std::vector<std::string> seen_;
  SendQueue queue_{context_, 10, [this](const std::string& message) { seen_.push_back(message); },
                   [this] { seen_.emplace_back("abort"); }};
};

TEST_F(SendQueueTest, WritesOneMessageAfterTheOther) {
  queue_.add("one");
  queue_.add("two");
  run();
  EXPECT_THAT(seen_, ElementsAre("one"));
  queue_.note_written();
  EXPECT_THAT(seen_, ElementsAre("one", "two"));
  queue_.note_written();
  queue_.add("three");
  run();
  EXPECT_THAT(seen_, ElementsAre("one", "two", "three"));
}

TEST_F(SendQueueTest, TakesLeaveBehindTheLastMessage) {
  queue_.add("one");
  queue_.close([this] { seen_.emplace_back("first end"); });
  queue_.close([this] { seen_.emplace_back("second end"); });
  queue_.add("late");
  run();
  EXPECT_THAT(seen_, ElementsAre("one"));
  queue_.note_written();
  run();
  EXPECT_THAT(seen_, ElementsAre("one", "first end"));
}

TEST_F(SendQueueTest, BreaksOffWhereTheClientReadsTooSlowly) {
  queue_.add("12345");
  run();
  queue_.add("12345");
  queue_.add("1");  // the first is still being written, and counts
  queue_.add("2");
  run();
  EXPECT_THAT(seen_, ElementsAre("12345", "abort"));
}

TEST_F(SendQueueTest, ALostOneSaysNothingMore) {
  queue_.add("one");
  queue_.close([this] { seen_.emplace_back("end"); });
  queue_.lose();
  run();
  EXPECT_THAT(seen_, ElementsAre());
  EXPECT_FALSE(queue_.wait_for_room(100, {}));
}

TEST_F(SendQueueTest, WaitsForRoom) {
  queue_.add("1234567");
  run();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(queue_.wait_for_room(5, stop.get_token()));
  EXPECT_TRUE(queue_.wait_for_room(8, {}));
  std::thread sender([this] { EXPECT_TRUE(queue_.wait_for_room(5, {})); });
  queue_.note_written();
  sender.join();
}

}  // namespace
}  // namespace predgen::serve
