#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "act/servers/tool_server.h"

namespace predgen::act {

/// The tools of several servers under one roof. A tool has its own name, or SERVER__NAME if another
/// server has one of that name; past ToolLimits::num_tools they are left out. Thread-safe.
class ToolServers : public ToolRunner {
 public:
  /// Starts all, and waits until they have listed their tools. UserError if one cannot be reached.
  ToolServers(const std::vector<ServerEntry>& entries, const ToolLimits& limits,
              const std::stop_token& stop);

  std::vector<Tool> tools() const override;
  std::string prompt() const override;
  ToolResult run(const Tool& tool, const std::string& arguments, const std::stop_token& stop,
                 const std::function<void(ToolProgress)>& on_progress) override;

 private:
  const ToolLimits limits_;
  std::vector<std::unique_ptr<ToolServer>> servers_;
};

/// `tools` of several servers, in order, with names that differ; what has none left is left out.
std::vector<Tool> with_unique_names(std::vector<Tool> tools);

}  // namespace predgen::act
