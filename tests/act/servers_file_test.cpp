#include "act/servers_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/fakes/environment_variable.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::act {
namespace {

struct ServersFile {
  std::vector<ServerEntry> read(const std::string& text) const {
    std::ofstream(folder / "mcp.json") << text;
    return read_servers_file(folder / "mcp.json");
  }
  void refuses(const std::string& server, const std::vector<std::string>& parts) const {
    expect_user_error([&] { read(R"({"mcpServers": {"home": )" + server + "}}"); }, parts);
  }
  TemporaryFolder folder;
};

TEST(ServersFileRead, HasWhatOtherProgramsWriteAndOurRules) {
  const EnvironmentVariable key("PREDGEN_TEST_KEY", "secret");
  const std::vector<ServerEntry> servers = ServersFile().read(R"({"mcpServers": {
      "home": {"type": "stdio", "command": "python3", "args": ["home.py", "${NOT_THERE:-8}"],
               "env": {"A": "${env:PREDGEN_TEST_KEY}"}, "cwd": "/tmp",
               "tools": {"lamp": {"effects": "idempotent", "ask": true, "timeout": 2.5}}},
      "off": {"disabled": true, "url": 5},
      "far": {"url": "http://127.0.0.1:8000/mcp",
              "headers": {"Authorization": "Bearer ${PREDGEN_TEST_KEY}"}}}})");
  ASSERT_EQ(servers.size(), 2u);
  EXPECT_EQ(servers[0].arguments, (std::vector<std::string>{"home.py", "8"}));
  EXPECT_EQ(servers[0].environment, std::vector<std::string>{"A=secret"});
  EXPECT_EQ(servers[0].folder, "/tmp");
  const ToolRule& rule = servers[0].rules.at("lamp");
  EXPECT_EQ(rule.effects, Effects::kIdempotent);
  EXPECT_EQ(rule.asks, true);
  EXPECT_EQ(rule.timeout_s, 2.5);
  EXPECT_EQ(servers[1].headers.at("Authorization"), "Bearer secret");
}

TEST(ServersFileRead, NamesEveryMistake) {
  const ServersFile file;
  expect_user_error([&] { file.read("{}"); }, {"mcp.json", "mcpServers"});
  expect_user_error([&] { file.read(R"({"mcpServers": {"a b": {}}})"); }, {"'a b'", "letters"});
  file.refuses("[]", {"mcpServers.home", "object"});
  file.refuses("{}", {"mcpServers.home", "command", "url"});
  file.refuses(R"({"command": "x", "url": "y"})", {"either"});
  file.refuses(R"({"command": 5})", {"mcpServers.home.command", "text"});
  file.refuses(R"({"command": "x", "args": "y"})", {"home.args", "list"});
  file.refuses(R"({"command": "x", "env": {"A=B": "y"}})", {"home.env.A=B"});
  file.refuses(R"({"command": "${NO_SUCH_VARIABLE_HERE}"})", {"NO_SUCH_VARIABLE_HERE"});
  file.refuses(R"({"type": "ws", "url": "y"})", {"home.type", "'ws'", "http"});
  file.refuses(R"({"url": "y", "headers": {"a": "b\nc"}})", {"home.headers.a"});
  file.refuses(R"({"command": "x", "disabled": "yes"})", {"home.disabled", "true or false"});
  file.refuses(R"({"command": "x", "tools": {"t": {"effects": "reads"}}})", {"tools.t.effects"});
  file.refuses(R"({"command": "x", "tools": {"t": {"timeout": 0}}})", {"tools.t.timeout", "3600"});
  file.refuses(R"({"command": "x", "tools": {"t": {"tmeout": 1}}})", {"tools.t.tmeout", "timeout"});
}

}  // namespace
}  // namespace predgen::act
