#pragma once

#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
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
  /// A guess at what a call with effects would say; nullopt: none. Never waits.
  virtual std::optional<std::string> expected(const Tool& tool,
                                              const std::string& arguments) const = 0;
  /// Begins what ToolRunner::run() does.
  virtual std::unique_ptr<BackgroundCall> begin(const Tool& tool, const std::string& arguments,
                                                const std::stop_token& stop) = 0;
};

/// Calls in real time, each in a thread of its own. Borrows the runner.
class ThreadedCalls : public BackgroundCalls {
 public:
  /// `client`: whose calls they are, for guesses.
  explicit ThreadedCalls(ToolRunner& runner, std::string client = "")
      : runner_(runner), client_(std::move(client)) {}
  /// Cancels what runs, and waits until it has ended.
  ~ThreadedCalls() override;

  std::vector<Tool> tools() const override { return runner_.tools(); }
  std::optional<std::string> expected(const Tool& tool,
                                      const std::string& arguments) const override {
    return runner_.expected().find(client_, tool, arguments);
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
  const std::string client_;
  std::list<Worker> workers_;  // with some that have ended
};

}  // namespace predgen::act
