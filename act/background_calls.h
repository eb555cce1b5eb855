#pragma once

#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "act/tool_runner.h"
#include "core/clock.h"

namespace predgen::act {

/// A call that runs beside whoever wants its result. Destroying it cancels the call, and waits for
/// nothing. Used by one thread.
class BackgroundCall {
 public:
  virtual ~BackgroundCall() = default;

  /// nullopt: it still runs. Never waits; throws our own mistakes alone.
  virtual std::optional<ToolResult> result() = 0;
  /// What was told since the last time.
  virtual std::optional<ToolProgress> take_progress() = 0;
  /// Returns when there is a result or progress. False: `most` has passed without.
  virtual bool wait(Seconds most) = 0;
};

/// Tools, and calls of them in the background: threads in real time, a timeline on a virtual clock.
/// Used by one thread; outlives its calls.
class BackgroundCalls {
 public:
  virtual ~BackgroundCalls() = default;

  /// As ToolRunner::tools().
  virtual std::vector<Tool> tools() const = 0;
  /// As ToolRunner::expected().
  virtual std::optional<std::string> expected(const Tool& tool,
                                              const std::string& arguments) const = 0;
  /// Begins what ToolRunner::run() does.
  virtual std::unique_ptr<BackgroundCall> begin(const Tool& tool, const std::string& arguments,
                                                const std::stop_token& stop) = 0;
};

/// Calls in real time, each in a thread of its own. Borrows the runner.
class ThreadedCalls : public BackgroundCalls {
 public:
  explicit ThreadedCalls(ToolRunner& runner) : runner_(runner) {}
  /// Cancels what runs, and waits until it has ended.
  ~ThreadedCalls() override;

  std::vector<Tool> tools() const override { return runner_.tools(); }
  std::optional<std::string> expected(const Tool& tool,
                                      const std::string& arguments) const override {
    return runner_.expected(tool, arguments);
  }
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
