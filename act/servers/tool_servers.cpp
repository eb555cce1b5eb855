#include "act/servers/tool_servers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace predgen::act {

std::vector<Tool> with_unique_names(std::vector<Tool> tools) {
  std::map<std::string, std::set<std::string>> servers;  // that have a name
  for (const Tool& tool : tools) servers[tool.name].insert(tool.server);
  std::set<std::string> taken;
  std::erase_if(tools, [&](Tool& tool) {
    if (servers[tool.name].size() > 1) tool.name = plain_name(tool.server + "__" + tool.name);
    return !taken.insert(tool.name).second;
  });
  return tools;
}

ToolServers::ToolServers(const std::vector<ServerEntry>& entries, const ToolLimits& limits,
                         const std::stop_token& stop)
    : limits_(limits) {
  for (const ServerEntry& entry : entries) {
    servers_.push_back(std::make_unique<ToolServer>(entry, limits));
  }
  for (const auto& server : servers_) server->wait_ready(stop);
}

std::vector<Tool> ToolServers::tools() const {
  std::vector<Tool> all;
  for (const auto& server : servers_) {
    std::vector<Tool> more = server->tools();
    std::ranges::move(more, std::back_inserter(all));
  }
  all = with_unique_names(std::move(all));
  if (all.size() > limits_.num_tools) all.resize(limits_.num_tools);
  return all;
}

std::string ToolServers::prompt() const {
  std::string all;
  for (const auto& server : servers_) all = joined(all, "\n\n", server->prompt());
  return all;
}

ToolResult ToolServers::run(const Tool& tool, const std::string& arguments,
                            const std::stop_token& stop,
                            const std::function<void(ToolProgress)>& on_progress) {
  const auto server =
      std::ranges::find_if(servers_, [&](const auto& one) { return one->name() == tool.server; });
  PREDGEN_CHECK(server != servers_.end(), "no server '{}'", tool.server);
  return (*server)->run(tool, arguments, stop, on_progress);
}

}  // namespace predgen::act
