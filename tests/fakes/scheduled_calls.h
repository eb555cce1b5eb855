#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "act/background_calls.h"
#include "core/clock.h"

namespace predgen {

/// Calls on a virtual clock: a test says what a tool says, and how long that takes.
class ScheduledCalls : public act::BackgroundCalls {
 public:
  struct Outcome {
    std::string text = "on";
    double seconds = 0;
    act::ToolResult::Status status = act::ToolResult::Status::kDone;
    bool may_have_happened = false;
  };

  explicit ScheduledCalls(VirtualClock& clock) : clock_(clock) {}

  std::vector<act::Tool> tools() const override { return offered; }
  std::unique_ptr<act::BackgroundCall> begin(const act::Tool& tool, const std::string& arguments,
                                             const std::stop_token& stop) override {
    begun.push_back(tool.name + " " + arguments);
    return std::make_unique<Call>(*this, answer(tool, arguments), stop);
  }

  std::optional<std::string> expected(const act::Tool& tool,
                                      const std::string& arguments) const override {
    return guess(tool, arguments);
  }

  std::vector<act::Tool> offered{
      {.name = "lamp", .server = "home", .own_name = "lamp", .effects = act::Effects::kRead}};
  std::function<Outcome(const act::Tool&, const std::string&)> answer =
      [](const act::Tool&, const std::string&) { return Outcome(); };
  std::function<std::optional<std::string>(const act::Tool&, const std::string&)> guess =
      [](const act::Tool&, const std::string&) { return std::nullopt; };
  std::function<void()> on_wait = [] {};  // at least every 50 ms of a wait
  std::vector<std::string> begun;
  int64_t num_alive = 0;  // not destroyed

 private:
  class Call : public act::BackgroundCall {
   public:
    Call(ScheduledCalls& of, const Outcome& outcome, std::stop_token stop)
        : of_(of),
          outcome_(outcome),
          end_(of.clock_.now() + Seconds(outcome.seconds)),
          stop_(std::move(stop)) {
      ++of_.num_alive;
    }
    ~Call() override { --of_.num_alive; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    std::optional<act::ToolResult> result() override {
      if (of_.clock_.now() >= end_) {
        return act::ToolResult{outcome_.status, outcome_.text, outcome_.may_have_happened};
      }
      if (!stop_.stop_requested()) return std::nullopt;
      return act::ToolResult{act::ToolResult::Status::kCancelled, "Cancelled."};
    }
    std::optional<act::ToolProgress> take_progress() override { return std::nullopt; }
    bool wait(Seconds most) override {
      const Seconds until = of_.clock_.now() + most;
      while (!result() && of_.clock_.now() < until) {
        of_.clock_.sleep_until(std::min({until, end_, of_.clock_.now() + Seconds(0.05)}));
        of_.on_wait();
      }
      return result().has_value();
    }

   private:
    ScheduledCalls& of_;
    const Outcome outcome_;
    const Seconds end_;
    const std::stop_token stop_;
  };

  VirtualClock& clock_;
};

}  // namespace predgen
