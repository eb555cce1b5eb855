#include "evaluate/judge/judge_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

PostReply reply(long status, const std::string& body) { return {status, body, "", std::nullopt}; }

PostReply completion(const std::string& text) {
  return reply(200, Json{{"choices", {{{"message", {{"content", text}}}}}},
                         {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 2}}}}
                        .dump());
}

/// An endpoint with replies in store, in virtual time.
struct ClientBench {
  TemporaryFolder folder;
  JudgeConfig config;
  std::deque<PostReply> replies;
  std::vector<std::string> bodies;
  std::vector<double> times;
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  JudgeClient client;

  explicit ClientBench(std::deque<PostReply> some, JudgeConfig given = {})
      : config(std::move(given)), replies(std::move(some)), client(make_client()) {}
  JudgeClient make_client() {
    config.endpoint = "http://judge";
    config.model = "m";
    config.cache = folder.path();
    return JudgeClient(
        config, "secret", [this](const std::string& body) { return post(body); }, clock);
  }
  PostReply post(const std::string& body) {
    bodies.push_back(body);
    times.push_back(clock.now().count());
    PostReply next = replies.empty() ? reply(500, "") : replies.front();
    if (!replies.empty()) replies.pop_front();
    return next;
  }
  JudgeReply ask(const std::string& question) {
    return client.ask({"Be fair.", question},
                      [](const std::string& text) { return text.starts_with("ok"); });
  }
};

TEST(JudgeClient, SendsAChatAndCountsTokens) {
  ClientBench bench({completion("ok 7")});
  EXPECT_EQ(bench.ask("why?").text, "ok 7");
  EXPECT_EQ(Json::parse(bench.bodies.at(0)),
            Json::parse(R"({"model":"m","messages":[{"role":"system","content":"Be fair."},)"
                        R"({"role":"user","content":"why?"}],"temperature":0,"max_tokens":2048})"));
  EXPECT_EQ(bench.client.usage(),
            Json::parse(R"({"calls":1,"from_cache":0,"prompt_tokens":10,"reply_tokens":2})"));
}

TEST(JudgeClient, RepeatsWhatMayPassAndWaitsAsAsked) {
  PostReply busy = reply(429, "slow down");
  busy.retry_after = 30;
  ClientBench bench({reply(500, ""), PostReply{0, "", "Timeout was reached", std::nullopt}, busy,
                     reply(200, "<html>"), completion("ok")});
  EXPECT_EQ(bench.ask("why?").text, "ok");
  EXPECT_EQ(bench.times, (std::vector<double>{0, 1, 3, 33, 41}));
}

TEST(JudgeClient, GivesUpWithTheReason) {
  JudgeConfig config;
  config.retries = 1;
  ClientBench bench({reply(401, "no, secret is not valid\nmore"), reply(200, "<html>"),
                     reply(200, "{}"), completion("what?"), reply(503, "")},
                    config);
  EXPECT_EQ(bench.ask("a").error, "HTTP 401: \"no, *** is not valid\"");
  EXPECT_EQ(bench.times.size(), 1u);  // it would not pass
  EXPECT_EQ(bench.ask("b").error, "the reply is no chat completion: \"{}\"");
  EXPECT_EQ(bench.ask("c").error, "the judge's reply has no verdict: \"what?\"");
  EXPECT_EQ(bench.ask("d").error, "HTTP 500: \"\"");
}

TEST(JudgeClient, StopsAskingAfterThreeFailuresInARow) {
  JudgeConfig config;
  config.retries = 0;
  ClientBench bench({reply(401, ""), completion("ok"), reply(401, ""), reply(401, ""),
                     reply(413, ""), reply(401, ""), reply(503, ""), reply(401, "")},
                    config);
  for (const char* question : {"a", "b", "c", "d", "e", "f", "g", "h"}) bench.ask(question);
  EXPECT_THAT(bench.ask("i").error, testing::StartsWith("not asked"));
  EXPECT_EQ(bench.bodies.size(), 8u);
  EXPECT_EQ(bench.ask("b").text, "ok");  // kept
}

TEST(JudgeClient, KeepsUsableRepliesByWhatWasAsked) {
  ClientBench bench({completion("ok 1"), completion("no"), completion("ok 2"), completion("ok 3")});
  EXPECT_EQ(bench.ask("a").text, "ok 1");
  EXPECT_FALSE(bench.ask("b").text);
  JudgeClient later = bench.make_client();
  const auto usable = [](const std::string& text) { return text.starts_with("ok"); };
  EXPECT_EQ(later.ask({"Be fair.", "a"}, usable).text, "ok 1");
  EXPECT_EQ(later.ask({"Be fair.", "b"}, usable).text, "ok 2");
  EXPECT_EQ(later.ask({"", "a"}, usable).text, "ok 3");
  EXPECT_EQ(later.usage()["from_cache"], 1);
}

TEST(JudgeClient, KeepsToARate) {
  JudgeConfig config;
  config.calls_per_minute = 30;
  ClientBench bench({completion("ok"), completion("ok"), completion("ok")}, config);
  for (const char* question : {"a", "b", "c"}) bench.ask(question);
  EXPECT_EQ(bench.times, (std::vector<double>{0, 2, 4}));
}

}  // namespace
}  // namespace predgen::evaluate
