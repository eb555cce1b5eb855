#include "data/corpus_row.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "data/jsonl_reader.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen::data {
namespace {

CorpusConversation parsed(const char* text) {
  return parse_conversation(parse_python_json(text).value);
}

/// "user: q|assistant: a".
std::string said(const CorpusConversation& conversation) {
  std::string text;
  for (const Message& message : conversation.messages) {
    text += (text.empty() ? "" : "|") + message.role + ": " + message.content;
  }
  return text;
}

std::string said(const char* text) {
  const CorpusConversation conversation = parsed(text);
  EXPECT_EQ(conversation.fault, std::nullopt) << text;
  return said(conversation);
}

TEST(CorpusRow, PartsOfTextAreOneText) {
  EXPECT_EQ(
      said(R"({"messages":[{"role":"user","content":[{"type":"text","text":"one "},)"
           R"({"type":"input_text","text":"river"}]},{"role":"assistant","content":["Nile"]}]})"),
      "user: one river|assistant: Nile");
  EXPECT_EQ(said(R"({"messages":[{"role":"user","content":[{"text":"q","type":"text",)"
                 R"("image_url":null}]}]})"),
            "user: q");
}

TEST(CorpusRow, QuestionsWithAnswers) {
  EXPECT_EQ(said(R"({"prompt":"q","completion":" a"})"), "user: q|assistant:  a");
  EXPECT_EQ(said(R"({"instruction":"Sum up.","input":"A text.","output":"A."})"),
            "user: Sum up.\n\nA text.|assistant: A.");
  EXPECT_EQ(said(R"({"instruction":"q","input":"","output":"a","text":"### q a"})"),
            "user: q|assistant: a");
  EXPECT_EQ(said(R"({"instruction":"q","context":"c","response":"a"})"),
            "user: q\n\nc|assistant: a");
  EXPECT_EQ(said(R"({"prompt":[{"role":"system","content":"s"},{"role":"user","content":"q"}],)"
                 R"("completion":[{"role":"assistant","content":"a"}]})"),
            "system: s|user: q|assistant: a");
  EXPECT_EQ(said(R"({"prompt":"q","completion":NaN})"), "user: q");
  expect_user_error([] { parsed(R"({"prompt":"q","chosen":"a","rejected":"b"})"); },
                    {"\"chosen\"", "\"completion\""});
}

TEST(CorpusRow, ASystemMessageMayStandBesideTheList) {
  EXPECT_EQ(said(R"({"system":"s","conversations":[{"from":"human","value":"q"},)"
                 R"({"from":"bard","value":"a"}]})"),
            "system: s|user: q|assistant: a");
  EXPECT_EQ(said(R"({"system":"","messages":[{"role":"user","content":"q"}]})"), "user: q");
}

TEST(CorpusRow, KeysOfOtherLayoutsMayMix) {
  EXPECT_EQ(said(R"({"messages":[{"from":"human","value":"q"},{"from":"gpt","content":"a"}]})"),
            "user: q|assistant: a");
}

TEST(CorpusRow, WhatCannotBeUsedIsAFault) {
  const auto fault = [](const std::string& message) {
    const std::string text = R"({"messages":[{"role":"user","content":"q"},)" + message +
                             R"(,{"role":"assistant","content":"later"}]})";
    const CorpusConversation conversation = parsed(text.c_str());
    EXPECT_EQ(said(conversation), "user: q|assistant: later") << message;
    return conversation.fault;
  };
  EXPECT_EQ(fault(R"({"role":"assistant","content":null,"tool_calls":[{"id":"1"}]})"),
            Drop::kToolCalls);
  EXPECT_EQ(fault(R"({"role":"assistant","function_call":{"name":"f"}})"), Drop::kToolCalls);
  EXPECT_EQ(fault(R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":7}}]})"),
            Drop::kToolCalls);
  EXPECT_EQ(fault(R"({"from":"observation","value":"18"})"), Drop::kToolCalls);
  EXPECT_EQ(fault(R"({"role":"assistant","content":null,"tool_calls":[]})"), Drop::kNoText);
  EXPECT_EQ(fault(R"({"role":"assistant","content":NaN})"), Drop::kNoText);
  EXPECT_EQ(fault(R"({"role":"assistant","content":3})"), Drop::kNoText);
  EXPECT_EQ(fault(R"({"role":"assistant","content":[]})"), Drop::kNoText);
  EXPECT_EQ(fault(R"({"role":"user","content":[{"type":"text","text":"see"},)"
                  R"({"type":"image_url","image_url":{"url":"x"}}]})"),
            Drop::kNoText);
  EXPECT_EQ(fault(R"({"content":"no role"})"), Drop::kNoText);
  EXPECT_EQ(fault(R"({"role":"narrator","content":"x"})"), Drop::kUnknownRole);
  EXPECT_TRUE(parsed("{}").messages.empty());
  EXPECT_TRUE(parsed(R"({"messages":null})").messages.empty());
}

TEST(CorpusRow, CallsOfFunctionsAreRead) {
  const char* const messages = R"("messages":[{"role":"user","content":"q"},
      {"role":"assistant","content":null,"tool_calls":[
        {"id":"1","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":2}"}},
        {"function":{"name":"g","arguments":{}}}]},
      {"role":"tool","content":"18"}])";
  const std::string tools = R"([{"type":"function","function":{"name":"f"}}])";
  const CorpusConversation one =
      parsed(fmt::format("{{\"tools\":{},{}}}", tools, messages).c_str());
  EXPECT_EQ(one.fault, std::nullopt);
  const char* const shown = R"([{"type":"function","function":{"name":"f",)"
                            R"("parameters":{"type":"object","properties":{}}}}])";
  EXPECT_EQ(one.tools, (ToolSet{.json = shown, .names = {"f"}}));
  const auto described = parsed(
      R"({"tools":[{"type":"function","function":{"type":"function","strict":false,"parameters":
         {"type":"object"},"description":"d","name":"f"}}],"messages":[]})");
  EXPECT_EQ(described.tools.json, R"([{"type":"function","function":{"name":"f",)"
                                  R"("description":"d","parameters":{"type":"object"}}}])")
      << "as a server shows it";
  ASSERT_EQ(one.messages.size(), 3u);
  EXPECT_EQ(one.messages[1].tool_calls,
            (std::vector<ToolCall>{{.id = "1", .name = "f", .arguments = R"({"b":1,"a":2})"},
                                   {.id = "", .name = "g", .arguments = "{}"}}));
  EXPECT_EQ(one.messages[2].role, "tool");
  const std::string as_text = Json(tools).dump();
  EXPECT_EQ(parsed(fmt::format("{{\"tools\":{},{}}}", as_text, messages).c_str()).tools, one.tools);
  EXPECT_EQ(parsed(R"({"tools":"[{\"name\":\"f\"}]","messages":[]})").tools, one.tools)
      << "ShareGPT's";
  for (const char* other :
       {R"("")", R"("none")", R"(["f"])", R"([{"function":7}])", "{}", "null"}) {
    const std::string row = fmt::format("{{\"tools\":{},{}}}", other, messages);
    EXPECT_TRUE(parsed(row.c_str()).tools.empty()) << other;
  }
}

TEST(CorpusRow, OtherLayoutsAreRefused) {
  expect_user_error([] { parsed(R"({"messages":"[{\"role\":\"user\"}]"})"); },
                    {"\"messages\" is a text", "JSON"});
  expect_user_error([] { parsed(R"([{"prompt":"q"}])"); }, {"a list", "jq -c '.[]'"});
  expect_user_error([] { parsed(R"({"messages":["q","a"]})"); }, {"\"messages\" is no object"});
  expect_user_error([] { parsed(R"({"question":"q","answer":"a"})"); },
                    {"no list \"conversation\", \"messages\"", "\"prompt\""});
}

TEST(PythonJson, ReadsWhatPythonWrites) {
  const PythonJson numbers = parse_python_json(R"({"a":NaN,"b":[-Infinity,Infinity],"c":"NaN"})");
  EXPECT_EQ(numbers.value, Json::parse(R"({"a":null,"b":[null,null],"c":"NaN"})"));
  EXPECT_FALSE(numbers.has_lone_surrogate);
  for (const char* text :
       {R"(["a\ud83d"])", R"(["\ude00b"])", R"(["\ud83d\ud83d\ude00"])", R"(["\uD83Dx"])"}) {
    EXPECT_TRUE(parse_python_json(text).has_lone_surrogate) << text;
  }
  const PythonJson pair = parse_python_json(R"(["\ud83d\ude00", "\\ud83d", NaN])");
  EXPECT_EQ(pair.value[0], "\U0001F600");
  EXPECT_EQ(pair.value[1], "\\ud83d");
  EXPECT_FALSE(pair.has_lone_surrogate);
  EXPECT_EQ(parse_python_json(R"(["\ud83d\ud83d\ude00"])").value[0], "\uFFFD\U0001F600");
}

TEST(PythonJson, KeepsTheParsersWords) {
  expect_user_error([] { parse_python_json("{\"a\": \"x\ny\"}"); },
                    {"not valid JSON: ", "control character"});
  expect_user_error([] { parse_python_json("{'a': 1}"); }, {"not valid JSON: ", "column 2"});
  expect_user_error([] { parse_python_json("[NaN, tru]"); }, {"not valid JSON: "});
  expect_user_error([] { parse_python_json(R"(["\u12"])"); }, {"not valid JSON: "});
  expect_user_error([] { parse_python_json(R"(["\)"); }, {"not valid JSON: "});
  expect_user_error([] { parse_python_json(std::string(500, '[')); }, {"nested more than"});
}

}  // namespace
}  // namespace predgen::data
