#include "serve/openai/responses_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/serve/openai/counting_api.h"

namespace predgen::serve {
namespace {

HttpRequest responses_request(const std::string& fields) {
  return {.method = "POST", .path = "/v1/responses", .body = R"({"model":"m",)" + fields + "}"};
}

Json response_to(CountingApi& api, const std::string& fields) {
  return Json::parse(api.ask(responses_request(fields)).body);
}

TEST(ResponsesApi, SaysWhatAChatSays) {
  CountingApi api;
  const std::string said = content_of(api.chat("hello"));
  const Json response = response_to(api, R"("input":"hello","metadata":{"a":"b"})");
  EXPECT_EQ(response["object"], "response");
  EXPECT_EQ(response["status"], "completed");
  EXPECT_EQ(response["model"], "m");
  EXPECT_EQ(response["metadata"]["a"], "b");
  ASSERT_EQ(response["output"].size(), 1U);
  EXPECT_EQ(response["output"][0]["role"], "assistant");
  EXPECT_EQ(response["output"][0]["status"], "completed");
  EXPECT_EQ(response["output"][0]["content"][0]["text"], said);
  EXPECT_EQ(response["usage"]["output_tokens"], 16);
  EXPECT_GT(response["usage"]["input_tokens_details"]["cached_tokens"], 0) << "as of the chat";
}

TEST(ResponsesApi, AnAnswerThatIsCutIsIncomplete) {
  CountingApi api;
  const Json response = response_to(api, R"("input":"hello","max_output_tokens":3)");
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
}

TEST(ResponsesApi, AStreamTellsWhatTheWholeHas) {
  CountingApi api;
  const Json whole = response_to(api, R"("input":"hello")");
  FakeReply reply;
  api.handle(responses_request(R"("input":"hello","stream":true)"), reply);
  std::string text;
  for (size_t i = 0; i < reply.events.size(); ++i) {
    const Json event = Json::parse(reply.events[i]);
    EXPECT_EQ(event["type"], reply.event_types[i]);
    EXPECT_EQ(event["sequence_number"], i);
    if (event["type"] == "response.output_text.delta") text += event["delta"].get<std::string>();
  }
  EXPECT_EQ(text, whole["output"][0]["content"][0]["text"]);
  EXPECT_EQ(reply.event_types.front(), "response.created");
  EXPECT_EQ(reply.event_types.back(), "response.completed");
  const Json last = Json::parse(reply.events.back())["response"];
  EXPECT_EQ(last["output"][0]["content"], whole["output"][0]["content"]);
  EXPECT_EQ(last["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
}

TEST(ResponsesApi, RefusesWithTheFieldsOfThisApi) {
  CountingApi api;
  const auto refusal = [&](const std::string& fields) { return response_to(api, fields)["error"]; };
  EXPECT_EQ(refusal(R"("input":")" + std::string(300, 'a') + "\"")["param"], "input");
  EXPECT_EQ(refusal(R"("input":"x","previous_response_id":"resp_1")")["param"],
            "previous_response_id");
  HttpRequest other = responses_request(R"("input":"x")");
  other.body.replace(other.body.find("\"m\""), 3, "\"gpt\"");
  EXPECT_EQ(api.error_code(other, 404), "model_not_found");
}

TEST(ResponsesApi, NamesWhatItIgnores) {
  CountingApi api;
  FakeReply reply;
  api.handle(responses_request(R"("input":"hello","stream":true,"colour":"red","a\r\nb":1)"),
             reply);
  ASSERT_EQ(reply.headers.size(), 1U);
  EXPECT_EQ(reply.headers[0].second, "colour, ..");
  EXPECT_EQ(reply.event_types.back(), "response.completed");
}

TEST(ResponsesApi, AFailureEndsAStream) {
  CountingApi api;
  api.engine.observe_passes([](const PassSize&) { throw Error("secret path"); });
  FakeReply reply;
  api.handle(responses_request(R"("input":"hello","stream":true)"), reply);
  EXPECT_EQ(reply.event_types.back(), "response.failed");
  EXPECT_EQ(reply.events.back().find("secret"), std::string::npos);
}

TEST(ResponsesApi, ASlowClientIsWaitedForWithoutTheLock) {
  CountingApi api;
  FakeReply reply;
  reply.is_busy = true;
  int64_t answered = 0;
  reply.on_flush = [&] {
    if (answered++ < 3) api.chat("another");
  };
  api.handle(responses_request(R"("input":"hello","stream":true)"), reply);
  EXPECT_GT(answered, 3);
  EXPECT_EQ(reply.event_types.back(), "response.completed");
}

}  // namespace
}  // namespace predgen::serve
