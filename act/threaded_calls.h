#pragma once

#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "act/background_calls.h"

namespace predgen::act {

/// Calls in real time, each in a thread of its own. Borrows the runner.
class ThreadedCalls : public BackgroundCalls {
 public:
  explicit ThreadedCalls(ToolRunner& runner) : runner_(runner) {}
  /// Cancels what runs, and waits until it has ended.
  ~ThreadedCalls() override;

  std::vector<Tool> tools() const override { return runner_.tools(); }
  std::unique_ptr<BackgroundCall> begin(const Tool& tool, const std::string& arguments,
                                        const std::stop_token& stop) override;

 private:
  class Call;
  struct State;
  struct Worker {
    std::shared_ptr<State> state;
    std::jthread thread;
  };

  ToolRunner& runner_;
  std::list<Worker> workers_;  // with some that have ended
};

}  // namespace predgen::act
