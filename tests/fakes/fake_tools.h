#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/tool_runner.h"

namespace predgen {

/// Tools whose results a test gives; it keeps the calls.
struct FakeTools : act::ToolRunner {
  std::vector<act::Tool> tools() const override { return offered; }
  act::ToolResult run(const act::Tool& tool, const std::string& arguments,
                      const std::stop_token& stop,
                      const std::function<void(act::ToolProgress)>& on_progress) override {
    calls.push_back(tool.own_name + " " + arguments);
    return answer(arguments, stop, on_progress);
  }

  std::vector<act::Tool> offered{
      {.name = "lamp", .server = "home", .own_name = "lamp", .effects = act::Effects::kWrites}};
  std::function<act::ToolResult(const std::string&, const std::stop_token&,
                                const std::function<void(act::ToolProgress)>&)>
      answer = [](const std::string&, const std::stop_token&, const auto&) {
        return act::ToolResult{act::ToolResult::Status::kDone, "on"};
      };
  std::vector<std::string> calls;
};

}  // namespace predgen
