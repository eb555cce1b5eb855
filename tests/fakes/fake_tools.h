#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "core/mutex.h"

namespace predgen {

/// Tools whose results a test gives; it keeps the calls. Thread-safe while these run.
struct FakeTools : act::ToolRunner {
  std::vector<act::Tool> tools() const override { return offered; }
  std::string prompt() const override { return home; }
  act::ToolResult run(const act::Tool& tool, const std::string& arguments,
                      const std::stop_token& stop,
                      const std::function<void(act::ToolProgress)>& on_progress) override {
    {
      const Lock lock(mutex);
      calls.push_back(tool.own_name + " " + arguments);
    }
    return answer(arguments, stop, on_progress);
  }

  std::vector<act::Tool> offered{
      {.name = "lamp", .server = "home", .own_name = "lamp", .effects = act::Effects::kWrites}};
  std::function<act::ToolResult(const std::string&, const std::stop_token&,
                                const std::function<void(act::ToolProgress)>&)>
      answer = [](const std::string&, const std::stop_token&, const auto&) {
        return act::ToolResult{act::ToolResult::Status::kDone, "on"};
      };
  std::string home;                // in the system prompt
  std::vector<std::string> calls;  // to be read when none runs
  Mutex mutex;                     // guards calls while they run
};

}  // namespace predgen
