#include "act/servers/tool_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/scripted_server.h"
#include "tests/fakes/waiting.h"

namespace predgen::act {
namespace {

using testing::HasSubstr;
using Status = ToolResult::Status;

const ServerEntry kHome{.name = "home",
                        .command = "unused",
                        .rules = {{"*", {.asks = true}}, {"ask", {.timeout_s = 0.05}}}};

TEST(ToolServer, RunsACallAndCancelsOneThatNobodyWaitsFor) {
  ScriptedServer script;
  std::atomic<bool> answers = true;
  script.answer = [&](const Json& message, const ScriptedServer::Send& send) {
    if (answer_opening(message, send)) return;
    if (message["method"] == "tools/call" && answers) {
      send(result_of(message, {{"content", Json::array({{{"type", "text"}, {"text", "fine"}}})}}));
    }
  };
  ToolServer server(kHome, {}, script.transport());
  server.wait_ready({});
  ASSERT_EQ(server.tools().size(), 1u);
  const Tool tool = server.tools()[0];
  EXPECT_EQ(tool.effects, Effects::kDestructive);  // nobody says otherwise
  EXPECT_TRUE(tool.asks);
  EXPECT_EQ(server.run(tool, "{}", {}, {}).text, "fine");
  EXPECT_EQ(server.run(tool, "[]", {}, {}).status, Status::kFailed);
  answers = false;
  const ToolResult late = server.run(tool, "{}", {}, {});
  EXPECT_EQ(late.status, Status::kTimedOut);
  EXPECT_THAT(late.text, HasSubstr("It may have happened all the same"));
  EXPECT_TRUE(late.may_have_happened);
  EXPECT_TRUE(
      comes_true([&] { return script.got().back()["method"] == "notifications/cancelled"; }));
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(server.run(tool, "{}", stopped.get_token(), {}).status, Status::kCancelled);
}

/// How many calls a server got.
size_t num_calls(const ScriptedServer& script) {
  const std::vector<Json> got = script.got();
  return static_cast<size_t>(
      std::ranges::count_if(got, [](const Json& one) { return one["method"] == "tools/call"; }));
}

const Json kFine{{"content", Json::array({{{"type", "text"}, {"text", "fine"}}})}};

/// It comes back, and nobody knows whether it has done what it was asked: it is not asked again.
TEST(ToolServer, OneThatDiesInACallIsNotCalledAgain) {
  ScriptedServer script;
  script.answer = [&](const Json& message, const ScriptedServer::Send& send) {
    if (answer_opening(message, send) || message["method"] != "tools/call") return;
    if (num_calls(script) > 1) return send(result_of(message, kFine));
    MessageHandler* client = nullptr;
    {
      const Lock lock(script.mutex);
      client = script.handler;
    }
    client->on_end("has ended");
  };
  ToolServer server({.name = "home", .command = "unused"}, {.retry_s = 0.01}, script.transport());
  server.wait_ready({});
  const Tool tool = server.tools()[0];
  const ToolResult lost = server.run(tool, "{}", {}, {});
  EXPECT_EQ(lost.status, Status::kUnavailable);
  EXPECT_TRUE(lost.may_have_happened);
  EXPECT_EQ(lost.text, "Error: the service 'home' has ended. It may have happened all the same.");
  const auto is_back = [&] {
    const std::vector<Json> got = script.got();
    return std::ranges::count(got, Json("tools/list"),
                              [](const Json& one) { return one["method"]; }) == 2;
  };
  ASSERT_TRUE(comes_true(is_back));
  EXPECT_EQ(num_calls(script), 1u);
  ToolResult then;
  EXPECT_TRUE(comes_true([&] {
    then = server.run(tool, "{}", {}, {});
    return then.status == Status::kDone;
  })) << then.text;
  EXPECT_EQ(num_calls(script), 2u) << "what is called while it is away is not made up for";
}

/// One that hangs is told that nobody waits, and its late answer is nobody's.
TEST(ToolServer, WhatChangesSomethingIsNotWaitedForLong) {
  ScriptedServer script;
  std::optional<Json> hanging;
  script.answer = [&](const Json& message, const ScriptedServer::Send& send) {
    if (message["method"] == "tools/list") {
      const Json reads{{"name", "look"}, {"annotations", {{"readOnlyHint", true}}}};
      return send(result_of(message, {{"tools", Json::array({{{"name", "ask"}}, reads})}}));
    }
    if (answer_opening(message, send) || message["method"] != "tools/call") return;
    if (std::exchange(hanging, message)) send(result_of(message, kFine));
  };
  ToolServer server({.name = "home", .command = "unused"}, {.effect_s = 0.05}, script.transport());
  server.wait_ready({});
  const std::vector<Tool> tools = server.tools();
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0].timeout_s, 0.05);
  EXPECT_EQ(tools[1].timeout_s, ToolLimits().read_s);
  EXPECT_EQ(ToolLimits().effect_s, 10);
  EXPECT_EQ(server.run(tools[0], "{}", {}, {}).status, Status::kTimedOut);
  const auto was_told = [&] {
    const Json last = script.got().back();
    return last["method"] == "notifications/cancelled" &&
           last["params"]["requestId"] == (*hanging)["id"];
  };
  EXPECT_TRUE(comes_true(was_told));
  script.send(
      result_of(*hanging, {{"content", Json::array({{{"type", "text"}, {"text", "late"}}})}}));
  EXPECT_EQ(server.run(tools[0], "{}", {}, {}).text, "fine");
  EXPECT_EQ(num_calls(script), 2u);
}

TEST(ToolServer, ReadsItsPromptAgain) {
  ScriptedServer script;
  std::atomic<int> num_prompts = 0;
  script.answer = [&](const Json& message, const ScriptedServer::Send& send) {
    if (answer_opening(message, send) || message["method"] != "prompts/get") return;
    EXPECT_EQ(message["params"]["name"], "Assist");
    const std::string text = fmt::format("There are {} lamps.", ++num_prompts);
    const Json said{{"role", "assistant"}, {"content", {{"type", "text"}, {"text", text}}}};
    send(result_of(message, {{"messages", Json::array({said, said})}}));
  };
  ServerEntry home = kHome;
  home.prompt = "Assist";
  ToolServer server(home, {.prompt_s = 0.02}, script.transport());
  server.wait_ready({});
  EXPECT_TRUE(
      comes_true([&] { return server.prompt() == "There are 3 lamps.\n\nThere are 3 lamps."; }));
}

TEST(ToolServer, APromptThatIsNotThereEndsTheStart) {
  ScriptedServer script;
  script.answer = [](const Json& message, const ScriptedServer::Send& send) {
    if (answer_opening(message, send) || message["method"] != "prompts/get") return;
    send(result_of(message, {{"messages", Json::array()}}));
  };
  ServerEntry home = kHome;
  home.prompt = "Assist";
  ToolServer server(home, {}, script.transport());
  expect_user_error([&] { server.wait_ready({}); }, {"'home'", "no text", "'Assist'"});
}

TEST(ToolServer, ListsAgainWhenToolsChange) {
  ScriptedServer script;
  std::atomic<int> num_lists = 0;
  script.answer = [&](const Json& message, const ScriptedServer::Send& send) {
    if (message["method"] == "tools/list") {
      return send(result_of(
          message, {{"tools", Json::array({{{"name", fmt::format("t{}", num_lists++)}}})}}));
    }
    answer_opening(message, send);
  };
  ToolServer server({.name = "home", .command = "unused"}, {}, script.transport());
  server.wait_ready({});
  EXPECT_EQ(server.tools()[0].name, "t0");
  script.send({{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}});
  EXPECT_TRUE(comes_true([&] { return server.tools()[0].name == "t1"; }));
}

TEST(ToolServer, OneThatIsNotThereIsTheUsersMistakeAtFirst) {
  ToolServer server({.name = "home", .command = "/no/such/program"}, {});
  expect_user_error([&] { server.wait_ready({}); }, {"'home'", "/no/such/program", "disabled"});
  const ToolResult nothing = server.run({}, "{}", {}, {});
  EXPECT_EQ(nothing.status, Status::kUnavailable);
  EXPECT_FALSE(nothing.may_have_happened);
}

TEST(ToolServer, TriesAgainOnceItWasThere) {
  ScriptedServer script;
  script.answer = [&](const Json& message, const ScriptedServer::Send& send) {
    answer_opening(message, send);
  };
  ToolServer server({.name = "home", .command = "unused"}, {.retry_s = 0.01}, script.transport());
  server.wait_ready({});
  const size_t num_before = script.got().size();
  {
    const Lock lock(script.mutex);
    script.handler->on_end("has ended");
  }
  EXPECT_TRUE(comes_true([&] { return script.got().size() >= num_before + 3; }));
  EXPECT_EQ(server.tools().size(), 1u);
}

TEST(ToolServers, GiveAToolTheNameOfItsServerOnlyIfAnotherHasItsOwn) {
  const std::vector<Tool> tools =
      with_unique_names({{.name = "lamp", .server = "a", .own_name = "lamp"},
                         {.name = "oven", .server = "a", .own_name = "oven"},
                         {.name = "lamp", .server = "b", .own_name = "lamp"},
                         {.name = "o_n", .server = "b", .own_name = "o n"},
                         {.name = "o_n", .server = "b", .own_name = "o/n"}});
  std::vector<std::string> names;
  for (const Tool& tool : tools) names.push_back(tool.name + "=" + tool.own_name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"a__lamp=lamp", "oven=oven", "b__lamp=lamp", "o_n=o n"}));
}

}  // namespace
}  // namespace predgen::act
