#include "act/background_calls.h"

#include <condition_variable>
#include <exception>
#include <functional>
#include <utility>

#include "core/mutex.h"

namespace predgen::act {

/// What the thread that wants a result sees of the one that waits for it.
struct ThreadedCalls::State {
  std::stop_source stop;
  Mutex mutex;
  std::condition_variable_any changed;
  std::optional<ToolResult> result GUARDED_BY(mutex);
  std::optional<ToolProgress> progress GUARDED_BY(mutex);
  std::exception_ptr failure GUARDED_BY(mutex);  // instead of a result

  bool is_over() {
    const Lock lock(mutex);
    return result || failure;
  }
  void run(ToolRunner& runner, const std::string& client, const Tool& tool,
           const std::string& arguments) {
    std::optional<ToolResult> answer;
    std::exception_ptr mistake;
    try {
      answer = runner.run(tool, arguments, stop.get_token(), [this](ToolProgress told) {
        const Lock lock(mutex);
        progress = told;
        changed.notify_all();
      });
      if (answer->status == ToolResult::Status::kDone) {
        runner.expected().learn(client, tool, arguments, answer->text);
      }
    } catch (...) {
      mistake = std::current_exception();
    }
    const Lock lock(mutex);
    result = std::move(answer);
    failure = mistake;
    changed.notify_all();
  }
};

class ThreadedCalls::Call : public BackgroundCall {
 public:
  Call(std::shared_ptr<State> state, const std::stop_token& stop)
      : state_(std::move(state)), on_stop_(stop, [this] { state_->stop.request_stop(); }) {}
  ~Call() override { state_->stop.request_stop(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::optional<ToolResult> result() override {
    const Lock lock(state_->mutex);
    if (state_->failure) std::rethrow_exception(state_->failure);
    return state_->result;
  }
  std::optional<ToolProgress> take_progress() override {
    const Lock lock(state_->mutex);
    return std::exchange(state_->progress, std::nullopt);
  }
  bool wait(Seconds most) override {
    State& state = *state_;
    Lock lock(state.mutex);
    return state.changed.wait_for(lock, steady_seconds(most.count()), [&]() REQUIRES(state.mutex) {
      return state.result || state.failure || state.progress;
    });
  }

 private:
  const std::shared_ptr<State> state_;
  const std::stop_callback<std::function<void()>> on_stop_;
};

ThreadedCalls::~ThreadedCalls() {
  for (const Worker& worker : workers_) worker.state->stop.request_stop();
}

std::unique_ptr<BackgroundCall> ThreadedCalls::begin(const Tool& tool, const std::string& arguments,
                                                     const std::stop_token& stop) {
  std::erase_if(workers_, [](const Worker& worker) { return worker.state->is_over(); });
  const auto state = std::make_shared<State>();
  auto call = std::make_unique<Call>(state, stop);
  workers_.push_back({.state = state, .thread = std::jthread([this, state, tool, arguments] {
                                        state->run(runner_, client_, tool, arguments);
                                      })});
  return call;
}

}  // namespace predgen::act
