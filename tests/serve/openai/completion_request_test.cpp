#include "serve/openai/completion_request.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

/// What is said about a chat request that has these fields besides a model and a message.
ApiError refused(const std::string& fields, bool is_chat = true) {
  const std::string prompt =
      is_chat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")";
  const std::string body =
      fields.starts_with("{") ? fields : R"({"model":"m",)" + prompt + "," + fields + "}";
  try {
    is_chat ? parse_chat_request(body) : parse_completion_request(body);
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << fields << " is taken";
  return ApiError({}, "");
}

TEST(CompletionRequest, HasAllThatAChatSays) {
  const CompletionRequest request = parse_chat_request(R"({
    "model": "m", "stream": true, "stream_options": {"include_usage": true}, "seed": -3,
    "messages": [{"role": "developer", "content": "Be brief."},
                 {"role": "user", "content": [{"type": "text", "text": "Hel"},
                                              {"type": "text", "text": "lo"}]},
                 {"role": "assistant", "content": "Yes?", "refusal": null},
                 {"role": "user", "content": "Go on."}],
    "max_tokens": 9, "max_completion_tokens": 7, "stop": ["\n", "END"], "temperature": 0.5,
    "top_p": 0.9, "n": 1, "logprobs": false, "presence_penalty": 0.0, "logit_bias": {},
    "response_format": {"type": "text"}, "tools": [], "tool_choice": "auto", "user": "somebody"})");
  EXPECT_EQ(request.model, "m");
  EXPECT_TRUE(request.is_chat() && request.stream && request.include_usage);
  const auto& messages = std::get<0>(request.prompt);
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "Hello");
  EXPECT_EQ(messages[2].role, "assistant");
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"\n", "END"}));
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.seed, static_cast<uint64_t>(-3));
}

TEST(CompletionRequest, HasFunctionsAndWhatTheySaid) {
  const std::string tools = R"("tools": [{"type": "function", "function": {"name": "f",
    "description": "does", "strict": true, "parameters": {"type": "object", "required": ["a"]}}},
    {"type": "function", "function": {"name": "g"}}])";
  const std::string messages = R"({"model": "m", "parallel_tool_calls": false, "messages": [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
      "function": {"name": "f", "arguments": "{\"a\": 1}"}},
      {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}}]},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "done"}]}], )";
  const CompletionRequest request = parse_chat_request(messages + tools + "}");
  EXPECT_EQ(request.tools.names, (std::vector<std::string>{"f", "g"}));
  const Json shown = Json::parse(request.tools.json);
  EXPECT_EQ(shown[0]["function"].dump(),
            R"({"name":"f","description":"does","parameters":{"type":"object","required":["a"]}})");
  EXPECT_EQ(shown[1]["function"]["parameters"]["type"], "object");
  EXPECT_FALSE(request.has_many_calls);
  const auto& said = std::get<0>(request.prompt);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[1].content, "");
  EXPECT_EQ(said[1].tool_calls,
            (std::vector<ToolCall>{{"c1", "f", R"({"a":1})"}, {"c2", "g", "{}"}}));
  EXPECT_EQ(said[2].role, "tool");
  EXPECT_EQ(said[2].tool_call_id, "c2");
  EXPECT_EQ(said[2].content, "done");
  EXPECT_TRUE(parse_chat_request(messages + tools + R"(, "tool_choice": "none"})").tools.empty());
}

TEST(CompletionRequest, SaysWhoseProbabilitiesAreWanted) {
  const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"hi"}])";
  EXPECT_EQ(parse_chat_request(chat + R"(,"logprobs":false,"top_logprobs":0})").logprobs,
            std::nullopt);
  EXPECT_EQ(parse_chat_request(chat + R"(,"logprobs":true})").logprobs, 0);
  EXPECT_EQ(parse_chat_request(chat + R"(,"logprobs":true,"top_logprobs":3})").logprobs, 3);
  EXPECT_EQ(parse_completion_request(R"({"model":"m","prompt":"hi","logprobs":0})").logprobs, 0);
}

TEST(CompletionRequest, HasWhatTheAnswerMaySay) {
  const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"hi"}],)";
  const auto said = [&](const std::string& content) {
    return parse_chat_request(chat + R"("prediction":{"type":"content","content":)" + content +
                              "}}")
        .prediction;
  };
  EXPECT_EQ(said(R"("as before")"), "as before");
  EXPECT_EQ(said(R"([{"type":"text","text":"as "},{"type":"text","text":"before"}])"), "as before");
  EXPECT_EQ(refused(R"("prediction":{"type":"content","content":"a"})", /*is_chat=*/false).param(),
            "prediction");
}

TEST(CompletionRequest, ANullIsAsGoodAsNothing) {
  const CompletionRequest request = parse_chat_request(
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":null,"stop":null,
          "temperature":null,"stream":null,"n":null,"stream_options":null})");
  EXPECT_FALSE(request.max_tokens || request.sampling.temperature || request.stream);
  EXPECT_TRUE(request.stop.empty());
}

TEST(CompletionRequest, DrawsASeedWhereThereIsNone) {
  const std::string body = R"({"model":"m","prompt":"hi","temperature":1})";
  EXPECT_NE(parse_completion_request(body).sampling.seed,
            parse_completion_request(body).sampling.seed);
}

TEST(CompletionRequest, TakesOnePromptAsTextOrIds) {
  const auto prompt = [](const std::string& text) {
    return parse_completion_request(R"({"model":"m","prompt":)" + text + "}");
  };
  EXPECT_EQ(std::get<std::string>(prompt(R"("hi")").prompt), "hi");
  EXPECT_EQ(std::get<std::string>(prompt(R"(["hi"])").prompt), "hi");
  EXPECT_EQ(std::get<TokenIds>(prompt("[1,2]").prompt), (TokenIds{1, 2}));
  EXPECT_EQ(std::get<TokenIds>(prompt("[[7]]").prompt), (TokenIds{7}));
  EXPECT_EQ(prompt("[3]").max_tokens, 16);
  for (const char* bad : {R"(["a","b"])", "[]", "[[]]", "[-1]", "[1.5]", "7", R"([1,"a"])"}) {
    EXPECT_EQ(refused(R"({"model":"m","prompt":)" + std::string(bad) + "}", false).param(),
              "prompt")
        << bad;
  }
}

TEST(CompletionRequest, NamesTheFieldThatIsWrong) {
  const std::vector<std::array<std::string, 3>> cases{
      {R"("temperature":"hot")", "temperature", "invalid_type"},
      {R"("temperature":2.5)", "temperature", "invalid_value"},
      {R"("top_p":0)", "top_p", "invalid_value"},
      {R"("top_p":1.1)", "top_p", "invalid_value"},
      {R"("max_tokens":0)", "max_tokens", "invalid_value"},
      {R"("max_tokens":1.5)", "max_tokens", "invalid_type"},
      {R"("max_tokens":18446744073709551615)", "max_tokens", "invalid_value"},
      {R"("stream":"yes")", "stream", "invalid_type"},
      {R"("stream_options":7)", "stream_options", "invalid_type"},
      {R"("stream_options":{"include_usage":1})", "stream_options.include_usage", "invalid_type"},
      {R"("stop":["a",1])", "stop", "invalid_type"},
      {R"("stop":"")", "stop", "invalid_value"},
      {R"("stop":["a","b","c","d","e"])", "stop", "invalid_value"},
      {R"("n":2)", "n", "unsupported_value"},
      {R"("logprobs":5)", "logprobs", "invalid_type"},
      {R"("top_logprobs":2)", "top_logprobs", "invalid_value"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs", "invalid_value"},
      {R"("prediction":"as before")", "prediction", "invalid_type"},
      {R"("prediction":{"content":"as before"})", "prediction.type", "invalid_value"},
      {R"("prediction":{"type":"content"})", "prediction.content", "invalid_type"},
      {R"("tools":[{}])", "tools[0].type", "missing_required_parameter"},
      {R"("tools":{})", "tools", "invalid_type"},
      {R"("tools":[{"type":"custom"}])", "tools[0].type", "unsupported_value"},
      {R"("tools":[{"type":"function","function":{}}])", "tools[0].function.name",
       "missing_required_parameter"},
      {R"("tools":[{"type":"function","function":{"name":"a b"}}])", "tools[0].function.name",
       "invalid_value"},
      {R"("tools":[{"type":"function","function":{"name":"f","parameters":1}}])",
       "tools[0].function.parameters", "invalid_type"},
      {R"("tool_choice":"required")", "tool_choice", "unsupported_value"},
      {R"("tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice",
       "unsupported_value"},
      {R"("temprature":1)", "temprature", ""},  // quoted below
      {R"({"model":"m","messages":[]})", "messages", "invalid_value"},
      {R"({"model":"m","messages":"hi"})", "messages", "invalid_type"},
      {R"({"model":"m"})", "messages", "missing_required_parameter"},
      {R"({"messages":[]})", "model", "missing_required_parameter"},
      {R"({"model":"m","messages":[{"role":"critic","content":"x"}]})", "messages[0].role",
       "invalid_value"},
      {R"({"model":"m","messages":[{"role":"tool","content":"x"}]})", "messages[0].tool_call_id",
       "invalid_type"},
      {R"({"model":"m","messages":[{"role":"tool","content":"x","tool_call_id":"c"}]})",
       "messages[0].tool_call_id", "invalid_value"},
      {R"({"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function",
          "function":{"name":"f","arguments":"[1]"}}]}]})",
       "messages[0].tool_calls[0].function.arguments", "invalid_value"},
      {R"({"model":"m","messages":[{"role":"user"}]})", "messages[0].content", "invalid_type"},
      {R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url"}]}]})",
       "messages[0].content", "invalid_value"}};
  for (const auto& [fields, param, code] : cases) {
    const ApiError error = refused(fields);
    EXPECT_EQ(error.status(), 400) << fields;
    if (code.empty()) continue;
    EXPECT_EQ(error.param(), param) << fields;
    EXPECT_EQ(error.code(), code) << fields;
  }
  const std::string unknown = refused(R"("temprature":1)").what();
  EXPECT_NE(unknown.find("did you mean \"temperature\""), std::string::npos) << unknown;
  EXPECT_EQ(refused(R"("best_of":3)", /*is_chat=*/false).param(), "best_of");
  EXPECT_EQ(refused(R"("logprobs":6)", /*is_chat=*/false).param(), "logprobs");
}

TEST(CompletionRequest, ANameThatIsFarTooLongIsCut) {
  const ApiError error = refused("\"" + std::string(400'000, 'x') + "\":1");
  EXPECT_EQ(error.code(), "unknown_parameter");
  EXPECT_LT(error.json().size(), 1500u);
}

TEST(CompletionRequest, ObjectsOfVeryManyKeysAreRefused) {
  std::string fields = R"("a":0)";
  for (int i = 0; i < 100'000; ++i) fields += fmt::format(",\"{}\":0", i);
  EXPECT_NE(std::string(refused(fields).what()).find("more than 1000 keys"), std::string::npos);
  EXPECT_EQ(refused(R"("metadata":{)" + fields + "}").status(), 400);
}

TEST(CompletionRequest, ABodyThatIsNoObjectIsRefused) {
  for (const char* body : {"", "{", "[]", "7", "{\"a\":\"\xff\"}"}) {
    EXPECT_THROW(parse_chat_request(body), ApiError) << body;
  }
  EXPECT_THROW(parse_chat_request(std::string(100000, '[')), ApiError);
  const Json json = Json::parse(refused("{").json());
  EXPECT_EQ(json["error"]["type"], "invalid_request_error");
  EXPECT_TRUE(json["error"]["param"].is_null() && json["error"]["code"].is_null());
}

}  // namespace
}  // namespace predgen::serve
