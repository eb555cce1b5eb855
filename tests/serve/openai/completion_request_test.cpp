#include "serve/openai/completion_request.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "core/json.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

/// What is said about a chat request that has these fields besides a model and a message.
ApiError refused_request(const std::string& fields, bool is_chat = true) {
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

TEST(CompletionRequest, MayAskForACall) {
  const std::string chat =
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],
          "tools":[{"type":"function","function":{"name":"f","strict":true}}],"tool_choice":)";
  const auto choice = [&](const std::string& asked) {
    return parse_chat_request(chat + asked + "}").tool_choice;
  };
  EXPECT_EQ(choice("\"auto\""), ToolChoice());
  EXPECT_EQ(choice("\"required\""), (ToolChoice{ToolChoice::Kind::kRequired}));
  EXPECT_EQ(choice("\"any\""), (ToolChoice{ToolChoice::Kind::kRequired}));
  EXPECT_EQ(choice(R"({"type":"function","function":{"name":"f"}})"),
            (ToolChoice{ToolChoice::Kind::kRequired, "f"}));
  EXPECT_THROW(choice(R"({"type":"function","function":{"name":"g"}})"), ApiError);
  EXPECT_EQ(parse_chat_request(chat + "null}").tools.strict, (std::vector<std::string>{"f"}));
}

TEST(CompletionRequest, MayGiveTheFormOfTheAnswer) {
  const auto form = [](const std::string& more) {
    return parse_completion_request(R"({"model":"m","prompt":"hi",)" + more + "}").form;
  };
  using Kind = AnswerForm::Kind;
  EXPECT_EQ(form(R"("response_format":{"type":"text"})"), std::nullopt);
  EXPECT_EQ(form(R"("response_format":{"type":"json_object"})")->text, R"({"type":"object"})");
  const auto schema = form(R"("response_format":{"type":"json_schema","json_schema":{"name":"n",
                              "strict":true,"schema":{"type":"null"}}})");
  EXPECT_EQ(schema->text, R"({"type":"null"})");
  EXPECT_EQ(schema->name, "'response_format.json_schema.schema'");
  EXPECT_TRUE(schema->is_strict);
  EXPECT_FALSE(form(R"("response_format":{"type":"json_schema","json_schema":{"strict":false,
                       "schema":{}}})")
                   ->is_strict);
  EXPECT_EQ(form(R"("format":"json")")->text, R"({"type":"object"})");
  EXPECT_EQ(form(R"("guided_json":"{\"type\":\"null\"}")")->text, R"({"type":"null"})");
  EXPECT_EQ(form(R"("guided_regex":"a+")")->kind, Kind::kRegex);
  EXPECT_EQ(form(R"("grammar":"root ::= \"a\"")")->kind, Kind::kEbnf);
  EXPECT_EQ(form(R"("structured_outputs":{"choice":["a","b \"c\""]})")->text,
            R"(root ::= "a" | "b \"c\"")");
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
  const std::string text = R"({"model":"m","prompt":"hi","prediction":{"type":"content",)";
  EXPECT_EQ(parse_completion_request(text + R"("content":"a"}})").prediction, "a");
}

TEST(CompletionRequest, ANullIsAsGoodAsNothing) {
  const CompletionRequest request = parse_chat_request(
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":null,"stop":null,
          "temperature":null,"stream":null,"n":null,"stream_options":null})");
  EXPECT_FALSE(request.max_tokens || request.sampling.temperature || request.stream);
  EXPECT_TRUE(request.stop.empty());
}

TEST(CompletionRequest, WhatAsksForNothingIsTaken) {
  const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"hi"}],)";
  for (const char* fields :
       {R"("cache_prompt":true,"id_slot":-1,"user":"u","store":false,"metadata":{"a":"b"})",
        R"("service_tier":"auto","verbosity":"low","prompt_cache_key":"k","keep_alive":"5m")",
        R"("prompt_cache_retention":"24h","frequency_penalty":0,"logit_bias":{},"stop":"")",
        R"("stop":["",""],"n":1.0,"mirostat":0,"mirostat_tau":5,"typical_p":1.0,"min_tokens":0)",
        R"("options":{"num_ctx":4096,"num_gpu":1,"mirostat":0},"grammar":"","guided_json":null)",
        R"("stream_options":{"include_obfuscation":false},"response_format":{"type":"text"})",
        R"("reasoning_effort":"default","chat_template_kwargs":{},"functions":[])"}) {
    const CompletionRequest request = parse_chat_request(chat + fields + "}");
    EXPECT_TRUE(request.ignored.empty() && request.stop.empty()) << fields;
    EXPECT_FALSE(request.thinks) << fields;
  }
}

TEST(CompletionRequest, WhatNobodyKnowsIsIgnoredAndNamed) {
  const CompletionRequest request = parse_chat_request(
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"colour":"red",
          "options":{"num_ctx":1,"shade":2}})");
  EXPECT_EQ(request.ignored, (std::vector<std::string>{"colour", "options.shade"}));
}

TEST(CompletionRequest, NumbersAreReadAsTheyAreMeant) {
  const auto parsed = [](const std::string& fields) {
    return parse_chat_request(R"({"model":"m","messages":[{"role":"user","content":"hi"}],)" +
                              fields + "}");
  };
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  for (const char* all : {"-1", "-2", "18446744073709551615", "1e30", "-1.0"}) {
    EXPECT_EQ(parsed(fmt::format(R"("max_tokens":{})", all)).max_tokens, kNoLimit) << all;
  }
  EXPECT_EQ(parsed(R"("max_tokens":4.0)").max_tokens, 4);
  EXPECT_EQ(parsed(R"("n_predict":5)").max_tokens, 5);
  EXPECT_EQ(parsed(R"("max_tokens":9,"options":{"num_predict":5})").max_tokens, 9);
  EXPECT_EQ(parsed(R"("seed":7.0)").sampling.seed, 7u);
  EXPECT_EQ(parsed(R"("random_seed":7)").sampling.seed, 7u);
  EXPECT_EQ(parsed(R"("seed":18446744073709551615)").sampling.seed, ~uint64_t{0});
  EXPECT_EQ(parsed(R"("top_k":-1)").sampling.top_k, 0);
  EXPECT_EQ(parsed(R"("top_p":0)").sampling.top_p, 0.0);
  EXPECT_EQ(parsed(R"("n":3.0)").num_choices, 3);
  EXPECT_EQ(parsed(R"("repeat_penalty":1.5)").sampling.repetition_penalty, 1.5);
  EXPECT_EQ(parsed(R"("frequency_penalty":0.5,"presence_penalty":-1)").sampling.presence_penalty,
            -1.0);
  EXPECT_EQ(parsed(R"("logit_bias":{"5":-100,"6":1.5})").sampling.logit_bias,
            (std::map<TokenId, double>{{5, -100}, {6, 1.5}}));
  const CompletionRequest ollama =
      parsed(R"("options":{"temperature":0.5,"repeat_last_n":64,"stop":["a"]},"temperature":null)");
  EXPECT_EQ(ollama.sampling.temperature, 0.5);
  EXPECT_EQ(ollama.sampling.penalty_window, 64);
  EXPECT_EQ(ollama.stop, (std::vector<std::string>{"a"}));
  EXPECT_EQ(parsed(R"("stop":["a","b","c","d","e","","f"])").stop.size(), 6u);
}

TEST(CompletionRequest, ThinkingHasManyNames) {
  const auto thinks = [](const std::string& fields) {
    return parse_chat_request(R"({"model":"m","messages":[{"role":"user","content":"hi"}],)" +
                              fields + "}")
        .thinks;
  };
  for (const char* on :
       {R"("reasoning_effort":"low")", R"("enable_thinking":true)", R"("think":"high")",
        R"("thinking":{"type":"enabled","budget_tokens":1024})", R"("reasoning":{"effort":"high"})",
        R"("reasoning":{"enabled":true})", R"("extra_body":{"enable_thinking":true})",
        R"("enable_thinking":true,"reasoning_effort":"none")"}) {
    EXPECT_EQ(thinks(on), true) << on;
  }
  for (const char* off :
       {R"("reasoning_effort":"none")", R"("reasoning_effort":"minimal")",
        R"("enable_thinking":false)", R"("think":false)", R"("reasoning_budget":0)",
        R"("thinking":{"type":"disabled"})", R"("reasoning":{"enabled":false,"effort":"high"})"}) {
    EXPECT_EQ(thinks(off), false) << off;
  }
  for (const char* none : {R"("reasoning_effort":null)", R"("reasoning":{"summary":"auto"})",
                           R"("think":null)", R"("reasoning_effort":"auto")"}) {
    EXPECT_EQ(thinks(none), std::nullopt) << none;
  }
  const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"hi"}],)";
  EXPECT_EQ(parse_chat_request(chat + R"("chat_template_kwargs":{"enable_thinking":false}})")
                .template_variables,
            R"({"enable_thinking":false})");
  EXPECT_FALSE(parse_chat_request(chat + R"("include_reasoning":false})").shows_thoughts);
  EXPECT_FALSE(parse_chat_request(chat + R"("reasoning":{"exclude":true}})").shows_thoughts);
}

TEST(CompletionRequest, MessagesOfOtherApisAreRead) {
  const auto last = [](const std::string& message) {
    return std::get<0>(parse_chat_request(R"({"model":"m","messages":[)" + message + "]}").prompt)
        .back();
  };
  EXPECT_EQ(last(R"({"role":"user","content":[{"type":"input_text","text":"a"},"b"]})").content,
            "ab");
  for (const char* message :
       {R"({"role":"assistant","content":[{"type":"refusal","refusal":"No."}]})",
        R"({"role":"assistant","content":null,"refusal":"No."})",
        R"({"role":"assistant","content":[{"type":"output_text","text":"No."}]})"}) {
    EXPECT_EQ(last(message).content, "No.") << message;
  }
  for (const char* message :
       {R"({"role":"assistant","content":null})", R"({"role":"assistant"})",
        R"({"role":"assistant","content":""})", R"({"role":"assistant","content":[]})"}) {
    EXPECT_EQ(last(message).content, "") << message;
  }
  for (const char* message :
       {R"({"role":"assistant","content":"No.","reasoning_content":"Hm."})",
        R"({"role":"assistant","content":"No.","reasoning":"Hm."})",
        R"({"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},"No."]})"}) {
    EXPECT_EQ(last(message).thought, "Hm.") << message;
    EXPECT_EQ(last(message).content, "No.") << message;
  }
  EXPECT_EQ(last(R"({"role":"user","content":"so \ud83d! \ude00 \ud83d\ude00 \\ud83d"})").content,
            "so \ufffd! \ufffd \U0001F600 \\ud83d");
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
    EXPECT_EQ(refused_request(R"({"model":"m","prompt":)" + std::string(bad) + "}", false).param(),
              "prompt")
        << bad;
  }
}

TEST(CompletionRequest, NamesTheFieldThatIsWrong) {
  const std::vector<std::array<std::string, 3>> cases{
      {R"("temperature":"hot")", "temperature", "invalid_type"},
      {R"("temperature":2.5)", "temperature", "invalid_value"},
      {R"("top_p":1.1)", "top_p", "invalid_value"},
      {R"("max_tokens":0)", "max_tokens", "invalid_value"},
      {R"("max_tokens":1.5)", "max_tokens", "invalid_type"},
      {R"("seed":"1")", "seed", "invalid_type"},
      {R"("n":0)", "n", "invalid_value"},
      {R"("n":1000)", "n", "invalid_value"},
      {R"("frequency_penalty":3)", "frequency_penalty", "invalid_value"},
      {R"("logit_bias":{"a":1})", "logit_bias", "invalid_value"},
      {R"("logit_bias":{"1":101})", "logit_bias", "invalid_value"},
      {R"("logit_bias":[1])", "logit_bias", "invalid_type"},
      {R"("reasoning_effort":"much")", "reasoning_effort", "invalid_value"},
      {R"("enable_thinking":1)", "enable_thinking", "invalid_value"},
      {R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs.messages",
       "unsupported_value"},
      {R"("chat_template_kwargs":7)", "chat_template_kwargs", "invalid_type"},
      {R"("options":{"mirostat":2})", "options.mirostat", "unsupported_value"},
      {R"("options":{"temperature":"hot"})", "options.temperature", "invalid_type"},
      {R"("options":7)", "options", "invalid_type"},
      {R"("response_format":{"type":"yaml"})", "response_format.type", "unsupported_value"},
      {R"("response_format":{"type":"json_schema"})", "response_format.json_schema",
       "missing_required_parameter"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})",
       "response_format.json_schema.schema", "missing_required_parameter"},
      {R"("response_format":{"type":"json_object"},"guided_regex":"a")", "guided_regex",
       "invalid_value"},
      {R"("guided_choice":[])", "guided_choice", "invalid_type"},
      {R"("structured_outputs":{"structural_tag":"x"})", "structured_outputs.structural_tag",
       "unknown_parameter"},
      {R"("web_search_options":{})", "web_search_options", "unsupported_value"},
      {R"("skip_special_tokens":false)", "skip_special_tokens", "unsupported_value"},
      {R"("system":"Be brief.")", "system", "unsupported_value"},
      {R"("stream":"yes")", "stream", "invalid_type"},
      {R"("stream_options":7)", "stream_options", "invalid_type"},
      {R"("stream_options":{"include_usage":1})", "stream_options.include_usage", "invalid_type"},
      {R"("stop":["a",1])", "stop", "invalid_type"},
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
    const ApiError error = refused_request(fields);
    EXPECT_EQ(error.status(), 400) << fields;
    EXPECT_EQ(error.param(), param) << fields;
    EXPECT_EQ(error.code(), code) << fields;
  }
  EXPECT_EQ(refused_request(R"("best_of":3)", /*is_chat=*/false).param(), "best_of");
  EXPECT_EQ(refused_request(R"("logprobs":6)", /*is_chat=*/false).param(), "logprobs");
}

TEST(CompletionRequest, ANameThatIsFarTooLongIsCut) {
  const ApiError error = refused_request(R"("messages":[{"role":"user","content":[{"type":")" +
                                         std::string(400'000, 'x') + R"("}]}])");
  EXPECT_EQ(error.code(), "invalid_value");
  EXPECT_LT(error.json().size(), 1500u);
  const CompletionRequest request =
      parse_chat_request(R"({"model":"m","messages":[{"role":"user","content":"hi"}],")" +
                         std::string(400'000, 'x') + "\":1}");
  EXPECT_LT(request.ignored.at(0).size(), 100u);
}

TEST(CompletionRequest, ObjectsOfVeryManyKeysAreRefused) {
  std::string fields = R"("a":0)";
  for (int i = 0; i < 100'000; ++i) fields += fmt::format(",\"{}\":0", i);
  EXPECT_NE(std::string(refused_request(fields).what()).find("more than 1000 keys"),
            std::string::npos);
  EXPECT_EQ(refused_request(R"("metadata":{)" + fields + "}").status(), 400);
}

TEST(CompletionRequest, ABodyThatIsNoObjectIsRefused) {
  for (const char* body : {"", "{", "[]", "7", "{\"a\":\"\xff\"}"}) {
    EXPECT_THROW(parse_chat_request(body), ApiError) << body;
  }
  EXPECT_THROW(parse_chat_request(std::string(100000, '[')), ApiError);
  const Json json = Json::parse(refused_request("{").json());
  EXPECT_EQ(json["error"]["type"], "invalid_request_error");
  EXPECT_TRUE(json["error"]["param"].is_null() && json["error"]["code"].is_null());
}

}  // namespace
}  // namespace predgen::serve
