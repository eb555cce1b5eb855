// use_tools FILE COMMAND..: runs each command in turn and prints one JSON line for it.
//   list             the tools
//   call NAME JSON   what becomes of a call
//   stop NAME JSON   the same, but nobody waits for it after 0.3 s
//   wait NAME        until there is such a tool, at most 20 s
//   back NAME JSON   calls until the server is there, at most 20 s
// CONNECT_SECONDS of the environment: until the servers must be there. Exit code 2: a mistake in
// the file, or a server that is not there.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "act/servers/tool_servers.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "tests/fakes/waiting.h"

namespace {

using namespace predgen;
using Steady = std::chrono::steady_clock;

std::optional<act::Tool> find_tool(const act::ToolServers& servers, const std::string& name) {
  for (const act::Tool& tool : servers.tools()) {
    if (tool.name == name) return tool;
  }
  return std::nullopt;
}

Json call(act::ToolServers& servers, const std::string& name, const std::string& arguments,
          bool is_stopped) {
  const std::optional<act::Tool> tool = find_tool(servers, name);
  if (!tool) return {{"status", "no such tool"}};
  std::stop_source stop;
  std::jthread stopper;
  if (is_stopped) {
    stopper = std::jthread([&stop] {
      take(std::chrono::milliseconds(300));
      stop.request_stop();
    });
  }
  int num_progress = 0;
  const auto begin = Steady::now();
  const act::ToolResult result =
      servers.run(*tool, arguments, stop.get_token(), [&](act::ToolProgress) { ++num_progress; });
  return {{"status", to_string(result.status)},
          {"text", result.text},
          {"seconds", Seconds(Steady::now() - begin).count()},
          {"progress", num_progress}};
}

Json list(const act::ToolServers& servers) {
  Json all = Json::array();
  for (const act::Tool& tool : servers.tools()) {
    all.push_back({{"name", tool.name},
                   {"description", tool.description},
                   {"effects", to_string(tool.effects)},
                   {"asks", tool.asks},
                   {"timeout", tool.timeout_s}});
  }
  return all;
}

void run(const std::vector<std::string>& words) {
  act::ToolServers servers(act::read_servers_file(words.at(0)),
                           {.connect_s = std::atof(std::getenv("CONNECT_SECONDS")), .retry_s = 0.1},
                           {});
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& command = words[i];
    Json answer;
    if (command == "list") {
      answer = list(servers);
    } else if (command == "wait") {
      const std::string& name = words.at(++i);
      answer = comes_true([&] { return find_tool(servers, name).has_value(); });
    } else {
      const std::string &name = words.at(i + 1), &arguments = words.at(i + 2);
      i += 2;
      if (command == "back") {
        comes_true([&] {
          answer = call(servers, name, arguments, false);
          return answer["status"] == "done";
        });
      } else {
        answer = call(servers, name, arguments, command == "stop");
      }
    }
    std::printf("%s\n", to_text(answer).c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    configure_log("info");
    run({argv + 1, argv + argc});
    return 0;
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
}
