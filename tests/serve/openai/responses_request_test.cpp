#include "serve/openai/responses_request.h"

#include <gtest/gtest.h>

namespace predgen::serve {
namespace {

CompletionRequest chat_of(const std::string& fields) {
  return parse_responses_request("{\"model\":\"m\"," + fields + "}").chat;
}

ApiError refusal_of(const std::string& fields) {
  try {
    chat_of(fields);
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << fields << " is taken";
  return ApiError({}, "");
}

TEST(ResponsesRequest, AsksForTheSameAsAChat) {
  const CompletionRequest chat = chat_of(
      R"("instructions":"Be brief.","input":"Hi","max_output_tokens":7,"temperature":0.5,"top_p":0.9,
         "stream":true,"store":false,"user":"me","metadata":{"a":"b"},"truncation":"auto",
         "include":["reasoning.encrypted_content"],"text":{"verbosity":"low"},
         "service_tier":"auto","background":false,"previous_response_id":null)");
  const auto& messages = std::get<0>(chat.prompt);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[0].content, "Be brief.");
  EXPECT_EQ(messages[1].role, "user");
  EXPECT_EQ(messages[1].content, "Hi");
  EXPECT_EQ(chat.max_tokens, 7);
  EXPECT_EQ(chat.sampling.temperature, 0.5);
  EXPECT_TRUE(chat.stream);
}

TEST(ResponsesRequest, OtherFieldsMeanWhatTheyMeanInChats) {
  const CompletionRequest chat = chat_of(
      R"("input":"Hi","frequency_penalty":0.5,"stop":["x"],"seed":7,"colour":"red","think":false)");
  EXPECT_EQ(chat.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(chat.thinks, false);
  EXPECT_EQ(chat.ignored, std::vector<std::string>{"colour"});
  EXPECT_EQ(refusal_of(R"("input":"x","mirostat":2)").param(), "mirostat");
}

TEST(ResponsesRequest, ItemsAreMessages) {
  const CompletionRequest chat = chat_of(R"("input":[
      {"role":"developer","content":"Be brief."},
      {"type":"message","role":"user","content":[{"type":"input_text","text":"Light "},
                                                 {"type":"input_text","text":"on?"}]},
      {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null},
      {"type":"message","id":"msg_1","status":"completed","role":"assistant",
       "content":[{"type":"output_text","text":"Wait.","annotations":[]}]},
      {"type":"function_call","id":"fc_1","call_id":"c1","name":"lamp","arguments":"{\"on\":true}"},
      {"type":"function_call","call_id":"c2","name":"lamp","arguments":""},
      {"type":"function_call_output","call_id":"c1","output":"done"},
      {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"no"}]},
      {"role":"user","content":"Thanks"}],
      "tools":[{"type":"function","name":"lamp","description":"A lamp","strict":false,
                "parameters":{"type":"object","properties":{}}}],"tool_choice":"auto")");
  const auto& messages = std::get<0>(chat.prompt);
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages[1].content, "Light on?");
  EXPECT_EQ(messages[2].content, "Wait.");
  ASSERT_EQ(messages[2].tool_calls.size(), 2U) << "calls of one answer are one message";
  EXPECT_EQ(messages[2].tool_calls[0].id, "c1");
  EXPECT_EQ(messages[3].role, "tool");
  EXPECT_EQ(messages[4].content, "no");
  EXPECT_EQ(chat.tools.names, std::vector<std::string>{"lamp"});
}

TEST(ResponsesRequest, ErrorsNameTheFieldsOfThisApi) {
  EXPECT_EQ(refusal_of(R"("input":7)").param(), "input");
  EXPECT_EQ(refusal_of(R"("input":[])").param(), "input");
  EXPECT_EQ(refusal_of(R"("instructions":"x")").param(), "input");
  EXPECT_EQ(refusal_of(R"("input":"x","max_output_tokens":"many")").param(), "max_output_tokens");
  EXPECT_EQ(refusal_of(R"("input":[{"role":"robot","content":"x"}])").param(), "input[0].role");
  EXPECT_EQ(refusal_of(R"("input":[{"role":"user","content":[{"type":"input_image"}]}])").param(),
            "input[0].content[0].type");
  EXPECT_EQ(refusal_of(R"("input":[{"type":"web_search_call","id":"x"}])").param(),
            "input[0].type");
  EXPECT_EQ(refusal_of(R"("input":"x","tools":[{"type":"web_search"}])").param(), "tools[0].type");
  EXPECT_EQ(refusal_of(R"("input":"x","tools":[{"type":"function","name":"a b"}])").param(),
            "tools[0].name");
  EXPECT_EQ(refusal_of(R"("input":"x","n":2)").param(), "n");
  EXPECT_EQ(refusal_of(R"("input":"x","logprobs":true,"top_logprobs":2)").param(), "logprobs");
  EXPECT_EQ(refusal_of(R"("input":"x","text":{"format":{"type":"yaml"}})").param(),
            "text.format.type");
  EXPECT_EQ(refusal_of(R"("input":"x","text":{"format":{"type":"json_schema"}})").param(),
            "text.format.schema");
  const ApiError call =
      refusal_of(R"("input":[{"type":"function_call_output","call_id":"c","output":"x"}])");
  EXPECT_EQ(call.param(), "input[0].tool_call_id");
  EXPECT_EQ(refusal_of(R"("instructions":"x","input":[{"type":"reasoning","summary":[]},
                         {"type":"function_call","call_id":"c","name":"a","arguments":"[]"}])")
                .param(),
            "input[1].tool_calls[0].function.arguments");
}

TEST(ResponsesRequest, WhatNeedsStoredResponsesIsRefusedByName) {
  for (const std::string name : {"previous_response_id", "conversation", "prompt"}) {
    const ApiError refusal = refusal_of("\"input\":\"x\",\"" + name + "\":\"resp_1\"");
    EXPECT_EQ(refusal.param(), name);
    EXPECT_NE(std::string(refusal.what()).find("send the whole conversation"), std::string::npos);
  }
  EXPECT_EQ(refusal_of(R"("input":"x","background":true)").param(), "background");
  EXPECT_EQ(refusal_of(R"("input":[{"type":"item_reference","id":"x"}])").param(), "input[0].type");
}

}  // namespace
}  // namespace predgen::serve
