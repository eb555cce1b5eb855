#include "act/mcp/mcp_client.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/fakes/scripted_server.h"
#include "tests/fakes/waiting.h"

namespace predgen::act {
namespace {

using testing::ElementsAre;

/// A client of a server that opens as it should; calls are the test's.
struct OpenClient {
  explicit OpenClient(std::function<void(const Json&, const ScriptedServer::Send&)> on_call) {
    server.answer = [on_call](const Json& message, const ScriptedServer::Send& send) {
      if (!message.contains("method") || answer_opening(message, send)) return;
      if (message["method"] == "tools/call") on_call(message, send);
    };
    client.emplace(server.transport(), [this] { ++num_woken; });
    client->initialize(20, {});
  }
  Json call(double timeout_s = 20, const std::stop_token& stop = {}) {
    return client->call_tool("ask", Json::object(), timeout_s, stop);
  }
  ScriptedServer server;
  std::atomic<int> num_woken = 0;
  std::optional<McpClient> client;
};

TEST(McpClient, OpensWithAHandshake) {
  OpenClient open([](const Json&, const auto&) {});
  std::vector<std::string> methods;
  for (const Json& message : open.server.got()) methods.push_back(message["method"]);
  EXPECT_THAT(methods, ElementsAre("initialize", "notifications/initialized"));
  const Json first = open.server.got().front()["params"];
  EXPECT_EQ(first["protocolVersion"], "2025-11-25");
  EXPECT_EQ(first["capabilities"], Json::object());
  EXPECT_EQ(open.client->list_tools(20, {}).size(), 1u);
}

TEST(McpClient, OneAnswerToAnIdCounts) {
  OpenClient open([](const Json& call, const auto& send) {
    Json other = result_of(call, "nobody's");
    other["id"] = 1000;
    send(other);
    other["id"] = std::to_string(call["id"].get<int64_t>());
    send(other);
    send(result_of(call, "mine"));
    send(result_of(call, "again"));
  });
  EXPECT_EQ(open.call(), "mine");
  EXPECT_EQ(open.call(), "mine");
}

/// Two who call at once have each their own answer, whichever comes first.
TEST(McpClient, CallsAtOnceAreNotMixedUp) {
  std::vector<Json> waiting;
  OpenClient* at = nullptr;
  OpenClient open([&](const Json& call, const auto&) {
    const Lock lock(at->server.mutex);
    waiting.push_back(call);
  });
  at = &open;
  const auto call_with = [&](const std::string& room) {
    return open.client->call_tool("ask", {{"room", room}}, 20, {});
  };
  Json red, blue;
  std::jthread one([&] { red = call_with("red"); });
  const auto num_waiting = [&] {
    const Lock lock(open.server.mutex);
    return waiting.size();
  };
  EXPECT_TRUE(comes_true([&] { return num_waiting() == 1; }));
  std::jthread other([&] { blue = call_with("blue"); });
  EXPECT_TRUE(comes_true([&] { return num_waiting() == 2; }));
  for (const Json& call : {waiting[1], waiting[0]}) {
    open.server.send(result_of(call, call["params"]["arguments"]["room"]));
  }
  one.join();
  other.join();
  EXPECT_EQ(red, "red");
  EXPECT_EQ(blue, "blue");
}

TEST(McpClient, ARefusalHasItsWords) {
  OpenClient open([](const Json& call, const auto& send) {
    send({{"jsonrpc", "2.0"},
          {"id", call["id"]},
          {"error", {{"code", -5}, {"message", "no milk"}}}});
  });
  try {
    open.call();
    ADD_FAILURE();
  } catch (const Refusal& refusal) {
    EXPECT_EQ(refusal.code, -5);
    EXPECT_STREQ(refusal.what(), "no milk");
  }
}

TEST(McpClient, WhatIsNotAnsweredIsCancelledLater) {
  OpenClient open([](const Json&, const auto&) {});
  EXPECT_THROW(open.call(0.01), NoAnswer);
  std::stop_source stop;
  std::jthread stopper([&] {
    EXPECT_TRUE(comes_true([&] { return open.server.got().size() == 4; }));
    stop.request_stop();
  });
  EXPECT_THROW(open.call(20, stop.get_token()), Interrupted);
  EXPECT_EQ(open.num_woken, 2);
  open.client->send_cancellations();
  const std::vector<Json> got = open.server.got();
  ASSERT_EQ(got.size(), 6u);
  EXPECT_EQ(got[4]["method"], "notifications/cancelled");
  EXPECT_EQ(got[4]["params"]["requestId"], got[2]["id"]);
  EXPECT_EQ(got[5]["params"]["requestId"], got[3]["id"]);
}

TEST(McpClient, AnswersAPingAndOffersNothingElse) {
  OpenClient open([](const Json&, const auto&) {});
  open.server.send({{"jsonrpc", "2.0"}, {"id", "p"}, {"method", "ping"}});
  open.server.send({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "sampling/createMessage"}});
  const std::vector<Json> got = open.server.got();
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[2], Json::parse(R"({"jsonrpc": "2.0", "id": "p", "result": {}})"));
  EXPECT_EQ(got[3]["error"]["code"], -32601);
}

TEST(McpClient, TellsThatToolsHaveChangedOnce) {
  OpenClient open([](const Json&, const auto&) {});
  EXPECT_FALSE(open.client->take_changed());
  for (int count = 0; count < 3; ++count) {
    open.server.send({{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}});
  }
  EXPECT_TRUE(open.client->take_changed());
  EXPECT_FALSE(open.client->take_changed());
  EXPECT_EQ(open.num_woken, 3);
}

TEST(McpClient, AFloodLosesTheServer) {
  OpenClient open([](const Json&, const auto&) {});
  int count = 0;
  for (; !open.client->lost() && count < 100000; ++count) {
    open.server.send({{"jsonrpc", "2.0"}, {"method", "notifications/message"}});
  }
  EXPECT_NEAR(count, 20000, 10);
  EXPECT_THROW(open.call(), ServerError);
}

TEST(McpClient, OddMessagesAreNone) {
  OpenClient open([](const Json& call, const auto& send) {
    for (const char* odd :
         {"5", "null", "[]", "[[]]", R"({"method": 5})", R"({"id": null, "method": "x"})",
          R"({"method": "notifications/progress", "params": []})", R"({"id": {}, "result": 1})",
          R"({"method": "notifications/progress", "params": {"progressToken": "1"}})"}) {
      send(Json::parse(odd));
    }
    send(Json::array({result_of(call, "in a batch")}));
  });
  EXPECT_EQ(open.call(), "in a batch");
}

}  // namespace
}  // namespace predgen::act
