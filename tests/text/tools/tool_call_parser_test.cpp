#include "text/tools/tool_call_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace predgen {
namespace {

using Kind = ToolCallParser::Part::Kind;

const std::vector<std::string> kNames{"weather", "lamp"};

/// What was found, readable: texts as they are, "!..!" for broken calls, "@name(arguments)#id".
std::string found(ToolFormat format, const std::vector<std::string>& pieces) {
  ToolCallParser parser(format, kNames);
  std::string all;
  const auto take = [&](const std::vector<ToolCallParser::Part>& parts) {
    for (const ToolCallParser::Part& part : parts) {
      if (part.kind == Kind::kCall) {
        const std::string id = part.call.id.empty() ? "" : "#" + part.call.id;
        all += "@" + part.call.name + "(" + part.call.arguments + ")" + id;
      } else {
        EXPECT_FALSE(part.text.empty());
        all += part.kind == Kind::kBroken ? "!" + part.text + "!" : part.text;
      }
    }
  };
  for (const std::string& piece : pieces) take(parser.push(piece));
  take(parser.finish());
  return all;
}

struct CallCase {
  ToolFormat format;
  std::string answer, expected;
};

const std::string kPlain = "It is <b>warm</b>, [1] and {so} on. \n";
const std::vector<CallCase> kCases{
    {ToolFormat::kHarmony, kPlain, kPlain},
    {ToolFormat::kHarmony,
     R"(I look.<|channel|>commentary to=functions.lamp<|message|>{"on": true})",
     R"(I look.@lamp({"on":true}))"},
    {ToolFormat::kHarmony,
     R"(<|channel|>commentary to=functions.lamp<|message|>{}<|channel|>commentary )"
     R"(to=functions.weather<|message|>{"city": "Bonn"})",
     R"(@lamp({})@weather({"city":"Bonn"}))"},
    {ToolFormat::kHarmony, "<|channel|>commentary to=functions.door<|message|>{}",
     "!<|channel|>commentary to=functions.door<|message|>{}!"},
    {ToolFormat::kHermes, kPlain, kPlain},
    {ToolFormat::kHermes,
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Köln\"}}\n</tool_call>",
     R"(@weather({"city":"Köln"}))"},
    {ToolFormat::kHermes,
     "I look.\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>\n<tool_call>\n"
     "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>\n",
     R"(I look.@weather({})@lamp({"on":true}))"},
    // Brackets, quotes and end marks in a text of the arguments.
    {ToolFormat::kHermes,
     R"(<tool_call>{"name": "lamp", "arguments": {"a": "}]\"</tool_call>"}}</tool_call> Done.)",
     R"(@lamp({"a":"}]\"</tool_call>"}) Done.)"},
    {ToolFormat::kHermes, R"(<tool_call>{"name": "lamp", "arguments": "{\"a\": 1}"}</tool_call>)",
     R"(@lamp({"a":1}))"},
    {ToolFormat::kHermes, R"(<tool_call>{"name": "lamp"})", "@lamp({})"},  // not closed
    {ToolFormat::kHermes, R"(<tool_call>{"name": "lamp"}</to)", "@lamp({})"},
    {ToolFormat::kHermes, R"(<tool_call>{"name": "lamp"} and so)", "@lamp({}) and so"},
    // Nearly JSON: line breaks in a text and commas behind the last item have one meaning ..
    {ToolFormat::kHermes,
     "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"a\": \"one\n\ttwo\", \"b\": [1, 2 , ],},}"
     "</tool_call>",
     R"(@lamp({"a":"one\n\ttwo","b":[1,2]}))"},
    {ToolFormat::kHermes,
     "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"a\": \",}\\\"\\\\\n,]\"}}</tool_call>",
     R"(@lamp({"a":",}\"\\\n,]"}))"},
    {ToolFormat::kMistral, "[TOOL_CALLS][{\"name\": \"lamp\", \"arguments\": {\"a\": \"x\ny\",}},]",
     R"(@lamp({"a":"x\ny"}))"},
    // .. Python's quotes have not.
    {ToolFormat::kHermes, R"(<tool_call>{'name': 'lamp', 'arguments': {}}</tool_call>)",
     R"(!<tool_call>{'name': 'lamp', 'arguments': {}}</tool_call>!)"},
    // As models that were shown the form in doubled braces write it, or without its mark.
    {ToolFormat::kHermes, R"(<tool_call>{{"name": "lamp", "arguments": {"a": 1}}}</tool_call>.)",
     R"(@lamp({"a":1}).)"},
    {ToolFormat::kHermes, R"(<tool_call>{{"name": "oven", "arguments": {}}}</tool_call>.)",
     R"(!<tool_call>{{"name": "oven", "arguments": {}}}</tool_call>!.)"},
    {ToolFormat::kHermes, R"({"name": "lamp", "arguments": {}})", "@lamp({})"},
    {ToolFormat::kHermes, R"({{"name": "lamp", "arguments": {"a": {}}}} Done.)",
     R"(@lamp({"a":{}}) Done.)"},
    {ToolFormat::kHermes,
     "I do.\n```json\n{\n  \"name\" : \"lamp\",\n  \"parameters\": {\"on\": true}\n}\n```\nWell.",
     "I do.@lamp({\"on\":true})\nWell."},
    {ToolFormat::kHermes, "It is `{\"name\": \"lamp\", \"arguments\": {}}`, or",
     "It is@lamp({}), or"},
    {ToolFormat::kHermes,
     R"(```[{"name": "lamp", "arguments": {}}, {"name": "weather", "arguments": {}}]```)",
     "@lamp({})@weather({})"},
    {ToolFormat::kHermes, R"({"name": "lamp", "arguments": {}}</tool_call>)", "@lamp({})"},
    // JSON that is no call.
    {ToolFormat::kHermes, R"(So: {"name": "lamp"} or {"name": "oven", "arguments": {}})",
     R"(So: {"name": "lamp"} or {"name": "oven", "arguments": {}})"},
    {ToolFormat::kHermes, "```json\n{\"name\": \"lam\"}\n``` [ {{ `",
     "```json\n{\"name\": \"lam\"}\n``` [ {{ `"},
    {ToolFormat::kHermes, R"({"name": "lamp", "arguments": [)",
     R"({"name": "lamp", "arguments": [)"},
    {ToolFormat::kHermes, R"(Oh <tool_call>{"name": "oven", "arguments": {}}</tool_call> dear)",
     R"(Oh! <tool_call>{"name": "oven", "arguments": {}}</tool_call>! dear)"},
    {ToolFormat::kHermes, R"(<tool_call>{"name": lamp}  </tool_call>. {"name": "lamp"})",
     R"(!<tool_call>{"name": lamp}  </tool_call>!. {"name": "lamp"})"},
    {ToolFormat::kHermes, "<tool_call>lamp</tool_call>Hm.", "!<tool_call>lamp</tool_call>!Hm."},
    {ToolFormat::kHermes, R"(<tool_call>{"name": "lamp", "argu)",
     R"(!<tool_call>{"name": "lamp", "argu!)"},
    {ToolFormat::kHermes, "<tool_call>", "!<tool_call>!"},
    {ToolFormat::kHermes, "a <tool_cal", "a <tool_cal"},
    {ToolFormat::kLlama, kPlain, kPlain},
    {ToolFormat::kLlama, R"({"name": "weather", "parameters": {"city": "Rome"}})",
     R"(@weather({"city":"Rome"}))"},
    {ToolFormat::kLlama,
     R"(<|python_tag|>{"name": "lamp", "parameters": {}}; {"name": "weather", "parameters": {}})",
     "@lamp({})@weather({})"},
    {ToolFormat::kLlama, R"(Wait. <|python_tag|>{"name": "lamp", "parameters": {}} ok)",
     "Wait.@lamp({}) ok"},
    {ToolFormat::kLlama, R"({"a": [1, 2]} is JSON.)", R"({"a": [1, 2]} is JSON.)"},
    {ToolFormat::kLlama, R"(So: {"name": "lamp", "parameters": {}})",
     R"(So: {"name": "lamp", "parameters": {}})"},
    {ToolFormat::kLlama, R"({"name": "oven", "parameters": {}})",
     R"(!{"name": "oven", "parameters": {}}!)"},
    {ToolFormat::kLlama, R"(<|python_tag|>search.call(query="x"))",
     R"(!<|python_tag|>search.call(query="x")!)"},
    {ToolFormat::kMistral, kPlain, kPlain},
    {ToolFormat::kMistral,
     R"([TOOL_CALLS][{"name": "weather", "arguments": {"city": "Rome"}, "id": "abcdef123"},
        {"name": "lamp", "arguments": {}}])",
     R"(@weather({"city":"Rome"})#abcdef123@lamp({}))"},
    {ToolFormat::kMistral, R"(Yes. [TOOL_CALLS] {"name": "lamp", "arguments": {}})",
     "Yes.@lamp({})"},
    {ToolFormat::kMistral,
     R"([TOOL_CALLS]lamp[ARGS]{"on": 1}[TOOL_CALLS]weather[CALL_ID]x1[ARGS]{})",
     R"(@lamp({"on":1})@weather({})#x1)"},
    {ToolFormat::kMistral, R"([TOOL_CALLS][{"name": "lamp"}, {"name": "oven"}] Hm.)",
     R"(![TOOL_CALLS][{"name": "lamp"}, {"name": "oven"}]! Hm.)"},
    {ToolFormat::kMistral, "[TOOL_CALLS]the lamp", "![TOOL_CALLS]the lamp!"},
};

TEST(ToolCallParser, FindsCallsAndGivesBackWhatIsNone) {
  for (const CallCase& one : kCases) {
    EXPECT_EQ(found(one.format, {one.answer}), one.expected) << one.answer;
  }
}

TEST(ToolCallParser, PiecesDoNotMatter) {
  std::mt19937 random(1);
  for (const CallCase& one : kCases) {
    const std::string expected = found(one.format, {one.answer});
    for (int round = 0; round < 60; ++round) {
      std::vector<std::string> pieces;
      const size_t longest = 1 + random() % (round < 5 ? 1 : 12);
      for (size_t at = 0; at < one.answer.size(); at += pieces.back().size()) {
        pieces.push_back(one.answer.substr(at, 1 + random() % longest));
      }
      EXPECT_EQ(found(one.format, pieces), expected) << one.answer;
    }
  }
}

TEST(ToolCallParser, SoupInPiecesIsTheSameSoup) {
  const std::vector<std::string> scraps{"<tool_call>",
                                        "</tool_call>",
                                        "<tool_",
                                        "call>",
                                        "<|python_tag|>",
                                        "[TOOL_CALLS]",
                                        "[ARGS]",
                                        "[CALL_ID]",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "\"",
                                        "\\",
                                        ";",
                                        " ",
                                        "\n",
                                        "a",
                                        "\"name\": \"lamp\"",
                                        R"({"name": "lamp"})"};
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string soup;
    for (size_t count = 1 + random() % 12; count > 0; --count) {
      soup += scraps[random() % scraps.size()];
    }
    std::vector<std::string> letters;
    for (const char letter : soup) letters.emplace_back(1, letter);
    for (const auto format : {ToolFormat::kHermes, ToolFormat::kLlama, ToolFormat::kMistral}) {
      EXPECT_EQ(found(format, letters), found(format, {soup})) << soup;
    }
  }
}

TEST(ToolCallParser, TextIsHeldBackOnlyWhereACallMayBegin) {
  ToolCallParser parser(ToolFormat::kHermes, kNames);
  const auto push = [&](const std::string& text) {
    std::string given;
    for (const ToolCallParser::Part& part : parser.push(text)) given += part.text;
    return given;
  };
  EXPECT_EQ(push("Hello"), "Hello");
  EXPECT_EQ(push(" you <"), " you");
  EXPECT_EQ(push("3"), " <3");
  EXPECT_EQ(push(" <tool_"), "");
  EXPECT_FALSE(parser.is_in_call());
  EXPECT_EQ(push("call>{"), "");
  EXPECT_TRUE(parser.is_in_call());
}

TEST(ToolCallParser, ACallIsKnownWithItsLastBracket) {
  ToolCallParser parser(ToolFormat::kHermes, kNames);
  EXPECT_TRUE(parser.push(R"(<tool_call>{"name": "lamp", "arguments": {})").empty());
  EXPECT_EQ(parser.push("}").size(), 1u);
}

TEST(ToolCallParser, KnowsTheTokensThatOnlyMarkCalls) {
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kMistral, "[TOOL_CALLS]"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kLlama, "<|python_tag|>"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kHermes, "</tool_call>"));
  EXPECT_FALSE(ToolCallParser::is_marker(ToolFormat::kHermes, "<|im_end|>"));
}

}  // namespace
}  // namespace predgen
