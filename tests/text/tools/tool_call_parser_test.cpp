#include "text/tools/tool_call_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace predgen {
namespace {

using Kind = ToolCallParser::Part::Kind;

const ToolSet kKnownTools{
    .json = R"([{"type": "function", "function": {"name": "weather", "parameters": {"type":
        "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "place":
        {"anyOf": [{"type": "string"}, {"type": "null"}]}, "unit": {"enum": ["C", "1"]}}}}},
        {"type": "function", "function": {"name": "lamp"}}])",
    .names = {"weather", "lamp"}};

/// What was found, readable: texts as they are, "!..!" for broken calls, "@name(arguments)#id".
std::string found(ToolFormat format, const std::vector<std::string>& pieces) {
  ToolCallParser parser(format, kKnownTools);
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
    // .. as has what is no character: halves of pairs, as bytes and as an escape ..
    {ToolFormat::kHermes,
     "<tool_call>{\"name\": \"lamp\", \"arguments\": {\"a\": \"\xed\xb5\xa9\", \"b\": "
     "\"\\ud83d\\ude00 \\ud83d\\n\"}}</tool_call>",
     "@lamp({\"a\":\"\uFFFD\uFFFD\uFFFD\",\"b\":\"\U0001F600 \uFFFD\\n\"})"},
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
    // Wrapped as OpenAI's API has them.
    {ToolFormat::kHermes, R"({"function": {"name": "lamp", "arguments": {"a": 1}}} Done.)",
     R"(@lamp({"a":1}) Done.)"},
    {ToolFormat::kHermes,
     "```json\n{\"type\": \"function\", \"function\": {\"name\": \"lamp\", \"parameters\": "
     "{}}\n}\n```",
     "@lamp({})"},
    {ToolFormat::kHermes,
     R"({"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lamp", "arguments":
        "{\"a\": 1}"}}, {"name": "weather", "arguments": {}}]}.)",
     R"(@lamp({"a":1})#c1@weather({}).)"},
    {ToolFormat::kHermes, R"({{"function": {"name": "lamp", "arguments": {}}}} Done.)",
     "@lamp({}) Done."},
    {ToolFormat::kHermes, R"([{"function": {"name": "lamp", "arguments": {}}}] Done.)",
     "@lamp({}) Done."},
    {ToolFormat::kHermes, R"({"function": "lamp", "arguments": {"a": 1}})", R"(@lamp({"a":1}))"},
    {ToolFormat::kHermes, R"(<tool_call>{"function": {"name": "lamp"}}</tool_call>)", "@lamp({})"},
    {ToolFormat::kHermes,
     R"({"function": {"name": "lamp"}} {"tool_calls": []} {"type": "function"})",
     R"({"function": {"name": "lamp"}} {"tool_calls": []} {"type": "function"})"},
    {ToolFormat::kHermes, R"({"function": {"name": "oven", "arguments": {}}})",
     R"({"function": {"name": "oven", "arguments": {}}})"},
    // Several in one answer, in a fence each or in one.
    {ToolFormat::kHermes,
     "I do.\n```json\n{\"name\": \"lamp\", \"arguments\": {}}\n```\n\n```json\n{\"name\": "
     "\"weather\", \"arguments\": {}}\n```\nDone.",
     "I do.@lamp({})@weather({})\nDone."},
    {ToolFormat::kHermes,
     "```json\n{\"name\": \"lamp\", \"arguments\": {}}\n{\"name\": \"weather\", \"arguments\": "
     "{}}\n```\nDone.",
     "@lamp({})@weather({})\nDone."},
    {ToolFormat::kHermes,
     "```json\n{\"name\": \"lamp\", \"arguments\": {}}\n```\nSo:\n```sh\nls\n```",
     "@lamp({})\nSo:\n```sh\nls\n```"},
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
    {ToolFormat::kXml, kPlain, kPlain},
    {ToolFormat::kXml,
     "Yes.\n\n<tool_call>\n<function=weather>\n<parameter=city>\nKöln\n</"
     "parameter>\n<parameter=days>"
     "\n3\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=lamp>\n</function>\n"
     "</tool_call>\n",
     R"(Yes.@weather({"city":"Köln","days":3})@lamp({}))"},
    // By their schemas: texts as they are, whatever they look like.
    {ToolFormat::kXml,
     "<tool_call><function=weather><parameter=city>7\n\n8</parameter><parameter=place>null</"
     "parameter>"
     "<parameter=unit>1</parameter></function></tool_call>",
     R"(@weather({"city":"7\n\n8","place":null,"unit":"1"}))"},
    // Without one: what can be JSON is.
    {ToolFormat::kXml,
     "<tool_call>\n<function=lamp>\n<parameter=on>\nTrue\n</parameter>\n<parameter=at>\n[1, "
     "{\"a\": "
     "null}]\n</parameter>\n<parameter=say>\nHi \"you\" "
     "<b>.\n</parameter>\n<parameter=none>\nNone\n"
     "</parameter>\n</function>\n</tool_call>",
     R"(@lamp({"on":true,"at":[1,{"a":null}],"say":"Hi \"you\" <b>.","none":null}))"},
    // End marks in a value; a mark that is left out; JSON instead.
    {ToolFormat::kXml,
     "<tool_call><function=weather><parameter=city></function></tool_call></parameter></function>"
     "</tool_call>.",
     R"(@weather({"city":"</function></tool_call>"}).)"},
    {ToolFormat::kXml, "I do. <function=lamp></function></tool_call> Done.",
     "I do.@lamp({}) Done."},
    {ToolFormat::kXml, "<tool_call><function=lamp></tool_call> Done.", "@lamp({}) Done."},
    {ToolFormat::kXml, R"(<tool_call>{"name": "lamp", "arguments": {"a": 1}}</tool_call>.)",
     R"(@lamp({"a":1}).)"},
    {ToolFormat::kXml, "<tool_call><function=oven></function></tool_call> Hm.",
     "!<tool_call><function=oven></function></tool_call>! Hm."},
    {ToolFormat::kXml, "<tool_call><function=lamp>on</function></tool_call> Hm.",
     "!<tool_call><function=lamp>on</function></tool_call>! Hm."},
    {ToolFormat::kXml, "<tool_call>lamp</tool_call>Hm.", "!<tool_call>lamp</tool_call>!Hm."},
    {ToolFormat::kXml, "<tool_call><function=lamp><parameter=a>1</parameter>",
     "!<tool_call><function=lamp><parameter=a>1</parameter>!"},
    {ToolFormat::kXml, "a <funct", "a <funct"},
    {ToolFormat::kGemma, kPlain, kPlain},
    {ToolFormat::kGemma,
     R"(I look.<|tool_call>call:weather{city:<|"|>Köln "x", {y}<|"|>,days:3}<tool_call|>)"
     R"(<|tool_call>call:lamp{on:true,at:[1,<|"|>b<|"|>],more:{a-b:None,c:-2.5e3}}<tool_call|>)",
     R"(I look.@weather({"city":"Köln \"x\", {y}","days":3}))"
     R"(@lamp({"on":true,"at":[1,"b"],"more":{"a-b":null,"c":-2500.0}}))"},
    {ToolFormat::kGemma, R"(<|tool_call>call:lamp{}<tool_call|> Done.)", "@lamp({}) Done."},
    {ToolFormat::kGemma,
     R"(<|tool_call> call: lamp { "a" : "b\n}", <|"|>c<|"|>: x y } <tool_call|>)",
     R"(@lamp({"a":"b\n}","c":"x y"}))"},
    {ToolFormat::kGemma, R"(<|tool_call>call:lamp{a:1})", R"(@lamp({"a":1}))"},  // not closed
    {ToolFormat::kGemma, R"(<|tool_call>call:lamp{a:<|"|>1})",
     R"(!<|tool_call>call:lamp{a:<|"|>1}!)"},
    {ToolFormat::kGemma, R"(<|tool_call>call:oven{}<tool_call|> Hm.)",
     R"(!<|tool_call>call:oven{}<tool_call|>! Hm.)"},
    {ToolFormat::kGemma, R"(<|tool_call>lamp{}<tool_call|>)",
     R"(!<|tool_call>lamp{}<tool_call|>!)"},
    {ToolFormat::kGemma, R"(<|tool_call>call:lamp{a:{b}<tool_call|>)",
     R"(!<|tool_call>call:lamp{a:{b}<tool_call|>!)"},
    {ToolFormat::kPython, kPlain, kPlain},
    {ToolFormat::kPython,
     R"(<|tool_call_start|>[weather(city="Köln", days=3), lamp()]<|tool_call_end|>I look.)",
     R"(@weather({"city":"Köln","days":3})@lamp({})I look.)"},
    {ToolFormat::kPython,
     "Yes. <|tool_call_start|>[lamp(on=True, off=False, at=None, list=[1, 'a', {'b': -2.5e1}], "
     "more={\"c\": true, \"d\": null},)]<|tool_call_end|>",
     R"(Yes.@lamp({"on":true,"off":false,"at":null,"list":[1,"a",{"b":-25.0}],)"
     R"("more":{"c":true,"d":null}}))"},
    // Escapes, brackets and the other quotes in a text; quotes that LFM2.5's template leaves as is.
    {ToolFormat::kPython,
     R"(<|tool_call_start|>[lamp(a='x\'\n\\ \x41\u00e9\d', b="(,]='\"", c='it's "on"')])"
     R"(<|tool_call_end|>)",
     R"(@lamp({"a":"x'\n\\ Aé\\d","b":"(,]='\"","c":"it's \"on\""}))"},
    {ToolFormat::kPython, "<|tool_call_start|>\n lamp( a = \"1\n2\" )\n<|tool_call_end|>",
     R"(@lamp({"a":"1\n2"}))"},
    // Values without a name have the parameters' order; not closed; JSON instead.
    {ToolFormat::kPython, "<|tool_call_start|>[weather('Rome', 3)]<|tool_call_end|>",
     R"(@weather({"city":"Rome","days":3}))"},
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(a=1)]", R"(@lamp({"a":1}))"},
    {ToolFormat::kPython,
     R"(<|tool_call_start|>[{"name": "lamp", "arguments": {"a": 1}}]<|tool_call_end|>.)",
     R"(@lamp({"a":1}).)"},
    // Nothing is computed.
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(a=b)]<|tool_call_end|> Hm.",
     "!<|tool_call_start|>[lamp(a=b)]<|tool_call_end|>! Hm."},
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(a=1+2)]<|tool_call_end|>",
     "!<|tool_call_start|>[lamp(a=1+2)]<|tool_call_end|>!"},
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(a=lamp())]<|tool_call_end|>",
     "!<|tool_call_start|>[lamp(a=lamp())]<|tool_call_end|>!"},
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(1)]<|tool_call_end|>",
     "!<|tool_call_start|>[lamp(1)]<|tool_call_end|>!"},
    {ToolFormat::kPython, "<|tool_call_start|>[oven()]<|tool_call_end|> Hm.",
     "!<|tool_call_start|>[oven()]<|tool_call_end|>! Hm."},
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(a=\"1)]<|tool_call_end|>",
     "!<|tool_call_start|>[lamp(a=\"1)]<|tool_call_end|>!"},
    {ToolFormat::kPython, "<|tool_call_start|>[]<|tool_call_end|>",
     "!<|tool_call_start|>[]<|tool_call_end|>!"},
    {ToolFormat::kPython, "<|tool_call_start|>[lamp(a=[1)]<|tool_call_end|>",
     "!<|tool_call_start|>[lamp(a=[1)]<|tool_call_end|>!"},
    {ToolFormat::kPython, "a <|tool_call_st", "a <|tool_call_st"},
    {ToolFormat::kLlama, kPlain, kPlain},
    {ToolFormat::kLlama,
     R"({"type": "function", "function": {"name": "lamp", "parameters": {"a": 1}}})",
     R"(@lamp({"a":1}))"},
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
                                        "\"function\": ",
                                        "\"tool_calls\": ",
                                        "```",
                                        ",",
                                        "<function=lamp>",
                                        "</function>",
                                        "<parameter=a>",
                                        "</parameter>",
                                        "<|tool_call>",
                                        "<tool_call|>",
                                        "call:lamp{",
                                        "<|tool_call_start|>",
                                        "<|tool_call_end|>",
                                        "lamp(",
                                        "a='",
                                        ")",
                                        "<|\"|>",
                                        R"({"name": "lamp", "arguments": {}})",
                                        R"({"name": "lamp"})"};
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string soup;
    for (size_t count = 1 + random() % 12; count > 0; --count) {
      soup += scraps[random() % scraps.size()];
    }
    std::vector<std::string> letters;
    for (const char letter : soup) letters.emplace_back(1, letter);
    for (const auto format : {ToolFormat::kHermes, ToolFormat::kXml, ToolFormat::kLlama,
                              ToolFormat::kMistral, ToolFormat::kGemma, ToolFormat::kPython}) {
      EXPECT_EQ(found(format, letters), found(format, {soup})) << soup;
    }
  }
}

TEST(ToolCallParser, TextIsHeldBackOnlyWhereACallMayBegin) {
  ToolCallParser parser(ToolFormat::kHermes, kKnownTools);
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
  ToolCallParser parser(ToolFormat::kHermes, kKnownTools);
  EXPECT_TRUE(parser.push(R"(<tool_call>{"name": "lamp", "arguments": {})").empty());
  EXPECT_EQ(parser.push("}").size(), 1u);
}

TEST(ToolCallParser, KnowsTheTokensThatOnlyMarkCalls) {
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kMistral, "[TOOL_CALLS]"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kLlama, "<|python_tag|>"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kHermes, "</tool_call>"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kGemma, "<|\"|>"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kXml, "<tool_call>"));
  EXPECT_TRUE(ToolCallParser::is_marker(ToolFormat::kPython, "<|tool_call_end|>"));
  EXPECT_FALSE(ToolCallParser::is_marker(ToolFormat::kHermes, "<|im_end|>"));
}

}  // namespace
}  // namespace predgen
