#include "act/background_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "tests/fakes/fake_tools.h"
#include "tests/fakes/waiting.h"

namespace predgen::act {
namespace {

constexpr Seconds kLong{60};

TEST(ThreadedCalls, RunBesideTheirCaller) {
  FakeTools runner;
  std::atomic<bool> may_end = false;
  runner.answer = [&](const auto&, const auto&, const auto& on_progress) {
    on_progress({1, 2});
    EXPECT_TRUE(comes_true([&] { return may_end.load(); }));
    return ToolResult{ToolResult::Status::kDone, "on"};
  };
  ThreadedCalls calls(runner);
  EXPECT_EQ(calls.tools(), runner.offered);
  const auto call = calls.begin(runner.offered[0], "{}", {});
  EXPECT_TRUE(call->wait(kLong));
  EXPECT_EQ(call->take_progress()->total, 2);
  EXPECT_FALSE(call->take_progress());
  EXPECT_FALSE(call->wait(Seconds(0.001)));
  EXPECT_FALSE(call->result());
  may_end = true;
  EXPECT_TRUE(call->wait(kLong));
  EXPECT_EQ(call->result()->text, "on");
  EXPECT_EQ(call->result()->text, "on");  // it stays
}

TEST(ThreadedCalls, AreCancelledByAStopAndByTheirEnd) {
  FakeTools runner;
  std::atomic<int> num_cancelled = 0;
  runner.answer = [&](const auto&, const std::stop_token& stop, const auto&) {
    EXPECT_TRUE(comes_true([&] { return stop.stop_requested(); }));
    ++num_cancelled;
    return ToolResult{ToolResult::Status::kCancelled, "Cancelled."};
  };
  ThreadedCalls calls(runner);
  std::stop_source stop;
  const auto stopped = calls.begin(runner.offered[0], "{}", stop.get_token());
  calls.begin(runner.offered[0], "{}", {});  // destroyed at once, without a wait
  stop.request_stop();
  EXPECT_TRUE(stopped->wait(kLong));
  EXPECT_EQ(stopped->result()->status, ToolResult::Status::kCancelled);
  EXPECT_TRUE(comes_true([&] { return num_cancelled == 2; }));
}

TEST(ThreadedCalls, PassOnOurOwnMistakes) {
  FakeTools runner;
  runner.answer = [](const auto&, const auto&, const auto&) -> ToolResult {
    throw std::logic_error("a mistake");
  };
  ThreadedCalls calls(runner);
  const auto call = calls.begin(runner.offered[0], "{}", {});
  EXPECT_TRUE(call->wait(kLong));
  EXPECT_THROW(call->result(), std::logic_error);
}

}  // namespace
}  // namespace predgen::act
