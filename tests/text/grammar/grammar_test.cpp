#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "core/json.h"
#include "core/random.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_tokenizer.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/promised_schema.h"
#include "text/tools/tool_call_parser.h"

namespace predgen {
namespace {

const std::vector<std::string> kWords{R"({")", R"(": ")",      R"(", ")", R"("})",       "city",
                                      "Oslo",  "unit",         "true",    "false",       "12",
                                      "\")",   "[TOOL_CALLS]", "é",       "<tool_call>", "\n"};

AnswerForm schema(const std::string& text, bool is_strict = true) {
  return {.text = text, .name = "the schema", .is_strict = is_strict};
}

AnswerForm of_kind(AnswerForm::Kind kind, const std::string& text) {
  return {.kind = kind, .text = text, .name = "the form"};
}

/// Whether all of `text`, token by token, is in the grammar, and may end there.
bool takes(const Grammar& grammar, const FakeTokenizer& tokenizer, const std::string& text) {
  GrammarMatcher matcher(grammar);
  for (const TokenId token : tokenizer.encode(text)) {
    if (!matcher.accept(token)) return false;
  }
  return matcher.may_end();
}

struct Forms {
  explicit Forms(ToolFormat format = ToolFormat::kHermes) : tokenizer(kWords, format) {}

  bool takes(const AnswerForm& form, const std::string& text) {
    return predgen::takes(*compiler.compile({.form = form}), tokenizer, text);
  }
  std::vector<bool> allowed(const GrammarMatcher& matcher) const {
    std::vector<uint32_t> words(static_cast<size_t>((tokenizer.vocab_size() + 31) / 32));
    matcher.allow(words);
    std::vector<bool> bits;
    for (TokenId token = 0; token < std::ssize(words) * 32; ++token) {
      bits.push_back((words[static_cast<size_t>(token) / 32] >> (token % 32) & 1) != 0);
    }
    return bits;
  }

  FakeTokenizer tokenizer;
  GrammarCompiler compiler{tokenizer};
};

const char* const kCity = R"({"type": "object", "required": ["city", "days"], "properties": {
    "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["C", "F"], "type": "string"}}, "additionalProperties": false})";

/// takes() of the grammar of these rules.
auto taker(Forms& forms, const AnswerRules& rules) {
  return [&forms, grammar = forms.compiler.compile(rules)](const std::string& text) {
    return takes(*grammar, forms.tokenizer, text);
  };
}

TEST(Grammar, TakesWhatIsRequiredByTurns) {
  Forms forms;
  const std::string timer = R"("type": "object", "properties": {"hours": {"type": "integer"},
      "minutes": {"type": "integer"}, "name": {"type": "string"}}, "additionalProperties": false,
      "required": ["name"], "anyOf": [{"required": ["hours"]}, {"required": ["minutes"]}])";
  for (const bool is_strict : {true, false}) {
    const AnswerForm form = schema("{" + timer + "}", is_strict);
    EXPECT_TRUE(forms.takes(form, R"({"hours": 1, "name": "a"})"));
    EXPECT_TRUE(forms.takes(form, R"({"hours": 1, "minutes": 2, "name": "a"})"));
    EXPECT_FALSE(forms.takes(form, R"({"name": "a"})"));
    EXPECT_FALSE(forms.takes(form, R"({"hours": 1})"));
    EXPECT_FALSE(forms.takes(form, "12"));
  }
  // What a grammar cannot say beside properties is left to the model: but an object it is.
  const AnswerForm loose = schema(R"({"type": "object", "properties": {"a": {"type": "integer"}},
      "oneOf": [{"required": ["a"]}, {"not": {}}]})",
                                  false);
  EXPECT_TRUE(forms.takes(loose, R"({"a": 1})"));
  EXPECT_FALSE(forms.takes(loose, R"({"a": "x"})"));
  EXPECT_FALSE(forms.takes(loose, "[]"));
}

TEST(Grammar, TakesWhatItsFormSays) {
  Forms forms;
  const AnswerForm city = schema(kCity);
  EXPECT_TRUE(forms.takes(city, R"({"city": "Oslo", "days": 3})"));
  EXPECT_TRUE(forms.takes(city, R"({"city": "Åre é \"x\" \n", "days": 14, "unit": "C"})"));
  EXPECT_FALSE(forms.takes(city, R"({"city":"Oslo","days":3})"));
  EXPECT_FALSE(forms.takes(city, R"({"city": "Oslo", "days": 15})"));
  EXPECT_FALSE(forms.takes(city, R"({"city": "Oslo"})"));
  EXPECT_FALSE(forms.takes(city, R"({"city": "Oslo", "days": 3)"));
  EXPECT_FALSE(forms.takes(city, R"({"city": "Oslo", "days": 3, "unit": "K"})"));
  const AnswerForm list = schema(R"({"$defs": {"node": {"type": "object", "properties":
      {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["next"],
      "additionalProperties": false}}, "$ref": "#/$defs/node"})");
  EXPECT_TRUE(forms.takes(list, R"({"next": {"next": null}})"));
  EXPECT_FALSE(forms.takes(list, R"({"next": {"next": 1}})"));
  EXPECT_TRUE(forms.takes(schema(R"({"type": "object"})", false), R"({"a": [1, {"b": null}]})"));
  const AnswerForm pair = of_kind(AnswerForm::Kind::kRegex, "[A-Z]{2}-[0-9]+");
  EXPECT_TRUE(forms.takes(pair, "AB-12"));
  EXPECT_FALSE(forms.takes(pair, "AB-"));
  const AnswerForm sum = of_kind(AnswerForm::Kind::kEbnf,
                                 "# sums\nroot ::= term (\" + \" term)*\nterm ::= [0-9]+ | \"(\" "
                                 "root \")\"\n");
  EXPECT_TRUE(forms.takes(sum, "1 + (2 + 3)"));
  EXPECT_FALSE(forms.takes(sum, "1 + (2 + 3"));
}

TEST(Grammar, AllowsTheTokensThatItAccepts) {
  Forms forms;
  Random random(1, "walk");
  for (const AnswerForm& form :
       {schema(kCity), schema(R"({"type": "object"})", false),
        of_kind(AnswerForm::Kind::kRegex, "(Oslo|é|[a-z]+)(, (city|12))*")}) {
    const auto grammar = forms.compiler.compile({.form = form});
    for (int walk = 0; walk < 8; ++walk) {
      GrammarMatcher matcher(*grammar);
      for (int step = 0; step < 25; ++step) {
        const std::vector<bool> bits = forms.allowed(matcher);
        std::vector<TokenId> may_come;
        for (TokenId token = 0; token < std::ssize(bits); ++token) {
          ASSERT_EQ(bits[static_cast<size_t>(token)], matcher.fork().accept(token)) << token;
          if (bits[static_cast<size_t>(token)]) may_come.push_back(token);
        }
        if (may_come.empty()) break;
        ASSERT_TRUE(matcher.accept(may_come[random.below(may_come.size())]));
      }
    }
  }
}

TEST(Grammar, KnowsWhatMustCome) {
  Forms forms;
  const auto grammar = forms.compiler.compile({.form = schema(kCity)});
  GrammarMatcher matcher(*grammar);
  EXPECT_EQ(matcher.forced_text(), R"({"city": ")");
  EXPECT_FALSE(matcher.forced_tokens().empty());
  for (const TokenId token : forms.tokenizer.encode(R"({"city": "Oslo")")) matcher.accept(token);
  EXPECT_EQ(matcher.forced_text(), R"(, "days": )");
  GrammarMatcher other = matcher.fork();
  EXPECT_TRUE(other.accept(','));
  EXPECT_EQ(other.forced_text(), R"( "days": )");
  EXPECT_EQ(matcher.forced_text(), R"(, "days": )");
  EXPECT_FALSE(matcher.accept(FakeTokenizer::kEnd));
  EXPECT_FALSE(matcher.accept(FakeTokenizer::kUser));
  EXPECT_FALSE(matcher.accept(-1));
  EXPECT_FALSE(matcher.accept(100000));
  EXPECT_EQ(matcher.forced_text(), R"(, "days": )");
}

TEST(Grammar, RefusesByNameWhatItCannotHoldTo) {
  Forms forms;
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    expect_user_error([&] { forms.compiler.compile({.form = schema(text)}); }, parts);
  };
  refused(R"({"type": "object", "properties": {"a": {"not": {}}}})",
          {"the schema", "'properties.a.not'", "leave it out"});
  refused(R"({"type": "array", "uniqueItems": true})", {"'uniqueItems'"});
  refused(R"({"type": "object", "properties": {}, "if": {}})", {"'if'"});
  refused(R"({"anyOf": [{"type": "null"}], "minLength": 1})", {"'minLength'", "beside anyOf"});
  refused(R"({"minLength": 3})", {"'minLength'", "without a type"});
  refused(R"({"type": "string", "format": "colour"})", {"'format'", "colour"});
  refused(R"({"type": "string", "format": "date", "maxLength": 3})", {"the schema", "format"});
  refused(R"({"$ref": "https://example.org/x"})", {"'$ref'", "'#'"});
  refused(R"({"type": "number", "multipleOf": 0.5})", {"multipleOf"});
  refused(R"({"enum": ["a", 1], "type": "string"})", {"'type'", "beside enum"});
  refused(R"({"type": "colour"})", {"colour"});
  refused(R"([1])", {"the schema", "an object"});
  refused(R"({"type": )", {"the schema"});
  refused(R"({"type": "integer", "minimum": 3, "maximum": 2})", {"the schema"});
  expect_user_error(
      [&] { forms.compiler.compile({.form = of_kind(AnswerForm::Kind::kRegex, "(a")}); },
      {"the form"});
  expect_user_error(
      [&] { forms.compiler.compile({.form = of_kind(AnswerForm::Kind::kEbnf, "start: x")}); },
      {"the form"});
  // Who is not strict leaves it to the model.
  EXPECT_TRUE(forms.takes(schema(R"({"type": "array", "uniqueItems": true})", false), "[1, 1]"));
  // What changes nothing is no matter.
  EXPECT_TRUE(forms.takes(schema(R"({"type": "string", "title": "x", "default": "", "minimum": 3,
                                     "description": "y", "examples": [1]})"),
                          R"("a")"));
}

TEST(Grammar, RefusesBombsAtOnce) {
  Forms forms;
  const auto begin = std::chrono::steady_clock::now();
  const auto refused = [&](const AnswerForm& form) {
    expect_user_error([&] { forms.compiler.compile({.form = form}); }, {form.name});
  };
  std::string deep = R"({"type": "null"})";
  for (int i = 0; i < 40; ++i) deep = R"({"type": "array", "items": )" + deep + "}";
  refused(schema(deep));
  Json wide{{"enum", Json::array()}};
  for (int i = 0; i < 5000; ++i) wide["enum"].push_back(i);
  refused(schema(wide.dump()));
  refused(schema(R"({"type": "string", "const": ")" + std::string(70000, 'x') + R"("})"));
  refused(schema(R"({"type": "string", "maxLength": 1000000})"));
  refused(schema(R"({"type": "array", "minItems": 99999999999})"));
  refused(schema(R"({"type": "string", "pattern": "((a{1,100}){1,100}){1,100}"})"));
  refused(schema(R"({"type": "string", "pattern": "a{99999999999999999999}"})"));
  refused(of_kind(AnswerForm::Kind::kRegex, std::string(100, '(') + std::string(100, ')')));
  refused(of_kind(AnswerForm::Kind::kEbnf, "root ::= (\"a\"{200}){200}"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Grammar, IsKeptForTheSameForm) {
  Forms forms;
  const auto grammar = forms.compiler.compile({.form = schema(kCity)});
  EXPECT_EQ(forms.compiler.compile({.form = schema(kCity)}), grammar);
  EXPECT_NE(forms.compiler.compile({.form = schema(kCity, false)}), grammar);
  for (size_t i = 0; i < GrammarCompiler::kMostKept; ++i) {
    forms.compiler.compile({.form = schema(R"({"const": )" + std::to_string(i) + "}")});
  }
  EXPECT_NE(forms.compiler.compile({.form = schema(kCity)}), grammar) << "others are newer";
}

ToolSet tools() {
  const Json city = Json::parse(kCity);
  Json list = Json::array();
  list.push_back({{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", city}}}});
  list.push_back({{"type", "function"},
                  {"function", {{"name", "bell"}, {"parameters", {{"type", "object"}}}}}});
  return {.json = list.dump(), .names = {"weather", "bell"}, .strict = {"weather"}};
}

const std::string kArguments = R"({"city": "Oslo", "days": 3})";

const std::string kXmlWeather =
    "\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</"
    "parameter>\n"
    "</function>\n</tool_call>";
const std::string kXmlBell =
    "\n<function=bell>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>";

/// Every model's own form of a call, and of two.
struct CallTexts {
  ToolFormat format;
  std::string one, two, broken;
};
const std::vector<CallTexts> kCalls{
    {ToolFormat::kHermes,
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": " + kArguments + "}\n</tool_call>",
     "<tool_call>\n{\"name\": \"weather\", \"arguments\": " + kArguments +
         "}\n</tool_call>\n<tool_call>\n{\"name\": \"bell\", \"arguments\": {\"a\": "
         "1}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"oven\""},
    {ToolFormat::kLlama, R"({"name": "weather", "parameters": )" + kArguments + "}",
     R"({"name": "weather", "parameters": )" + kArguments +
         R"(}; {"name": "bell", "parameters": {"a": 1}})",
     R"({"name": "oven")"},
    {ToolFormat::kMistral, R"([TOOL_CALLS][{"name": "weather", "arguments": )" + kArguments + "}]",
     R"([TOOL_CALLS][{"name": "weather", "arguments": )" + kArguments +
         R"(}, {"name": "bell", "arguments": {"a": 1}}])",
     R"([TOOL_CALLS][{"name": "oven")"},
    {ToolFormat::kXml, "<tool_call>" + kXmlWeather,
     "<tool_call>" + kXmlWeather + "\n<tool_call>" + kXmlBell, "<tool_call>\n<function=oven>"},
    {ToolFormat::kGemma, R"(<|tool_call>call:weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>)",
     R"(<|tool_call>call:weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>)"
     R"(<|tool_call>call:bell{a:1}<tool_call|>)",
     "<|tool_call>call:oven"},
    {ToolFormat::kPython, R"(<|tool_call_start|>[weather(city="Oslo", days=3)]<|tool_call_end|>)",
     R"(<|tool_call_start|>[weather(city="Oslo", days=3), bell(a=1)]<|tool_call_end|>)",
     "<|tool_call_start|>[oven("}};

TEST(CallGrammar, HasEveryModelsOwnForm) {
  for (const CallTexts& calls : kCalls) {
    Forms forms(calls.format);
    const auto takes = [&](AnswerRules rules, const std::string& text) {
      rules.tools = tools();
      return predgen::takes(*forms.compiler.compile(rules), forms.tokenizer, text);
    };
    const AnswerRules required{.calls = AnswerRules::Calls::kRequired};
    AnswerRules bell = required, single = required;
    bell.only_tool = "bell";
    single.has_many_calls = false;
    const std::string where = calls.one;
    EXPECT_TRUE(takes(required, calls.one)) << where;
    EXPECT_TRUE(takes(required, calls.two)) << where;
    EXPECT_TRUE(takes(single, calls.one)) << where;
    EXPECT_FALSE(takes(single, calls.two)) << where;
    EXPECT_FALSE(takes(bell, calls.one)) << where;
    EXPECT_FALSE(takes(required, "Yes. " + calls.one)) << where;
    EXPECT_FALSE(takes(required, "")) << where;
    EXPECT_TRUE(takes({}, calls.one)) << where;
    EXPECT_TRUE(takes({}, calls.two)) << where;
    EXPECT_TRUE(takes({}, "It is sunny, 12 {degrees}.")) << where;
    EXPECT_FALSE(takes({}, calls.broken)) << where;
    const AnswerForm form = schema(R"({"type": "integer"})");
    EXPECT_TRUE(takes({.form = form}, calls.one)) << where;
    EXPECT_TRUE(takes({.form = form}, "12")) << where;
    EXPECT_FALSE(takes({.form = form}, "It is")) << where;
    // What the grammar says is what the parser reads.
    ToolCallParser parser(calls.format, tools());
    auto parts = parser.push(calls.two);
    std::ranges::move(parser.finish(), std::back_inserter(parts));
    ASSERT_EQ(parts.size(), 2u) << where;
    EXPECT_EQ(parts[0].call.arguments, Json::parse(kArguments).dump());
    EXPECT_EQ(parts[1].call.name, "bell");
  }
}

TEST(CallGrammar, AllowsTheSameWhenMasksAreMadeLate) {
  for (const CallTexts& calls : kCalls) {
    Forms forms(calls.format);
    const auto compiled = [&](bool is_passing) {
      return forms.compiler.compile({.tools = tools(), .is_passing = is_passing});
    };
    const auto early = compiled(false), late = compiled(true);
    const int64_t bytes = late->num_bytes();
    GrammarMatcher one(*early), other(*late);
    for (const TokenId token : forms.tokenizer.encode(calls.two)) {
      ASSERT_EQ(forms.allowed(one), forms.allowed(other)) << calls.two;
      ASSERT_EQ(one.accept(token), other.accept(token));
    }
    EXPECT_EQ(one.may_end(), other.may_end());
    EXPECT_LT(bytes, late->num_bytes()) << "no mask was made late";
  }
}

/// What the grammar of these tools forces behind `text`.
std::string forced(Forms& forms, const std::string& text) {
  GrammarMatcher matcher(*forms.compiler.compile(
      {.tools = tools(), .calls = AnswerRules::Calls::kRequired, .only_tool = "weather"}));
  for (const TokenId token : forms.tokenizer.encode(text)) EXPECT_TRUE(matcher.accept(token));
  return matcher.forced_text();
}

TEST(CallGrammar, HoldsXmlToSchemas) {
  Forms forms(ToolFormat::kXml);
  const auto takes = taker(forms, {.tools = tools()});
  const std::string city = "<parameter=city>Oslo</parameter>";
  EXPECT_TRUE(takes("Yes. <tool_call><function=weather>" + city +
                    "<parameter=days>3</parameter></function></tool_call> Done."));
  EXPECT_TRUE(takes("<function=weather>" + city + "<parameter=days>3</parameter></function>"));
  EXPECT_FALSE(takes("<function=weather>" + city + "</function>"));
  EXPECT_FALSE(takes("<tool_call><function=weather>" + city +
                     "<parameter=days>15</parameter></function></tool_call>"));
  EXPECT_FALSE(
      takes("<tool_call><function=weather><parameter=city>a</parameter>b</parameter>"
            "<parameter=days>3</parameter></function></tool_call>"));
  EXPECT_TRUE(takes("a <function of> b"));
  EXPECT_EQ(forced(forms, ""), "<tool_call>\n<function=weather>");
  EXPECT_EQ(forced(forms, "<tool_call>\n<function=weather>\n"), "<parameter=city>");
}

TEST(CallGrammar, HoldsGemmasArgumentsToSchemas) {
  Forms forms(ToolFormat::kGemma);
  const auto takes = taker(forms, {.tools = tools()});
  const std::string begin = R"(Yes.<|tool_call>call:weather{city:<|"|>)";
  EXPECT_TRUE(takes(begin + R"(a "b", {c}<|"|>,days:14,unit:<|"|>C<|"|>}<tool_call|> Done.)"));
  EXPECT_FALSE(takes(begin + R"(a<|"|>,days:15}<tool_call|>)"));
  EXPECT_FALSE(takes(begin + R"(a<|"|>}<tool_call|>)"));
  EXPECT_FALSE(takes(begin + R"(a<|"|>,days:3,unit:<|"|>K<|"|>}<tool_call|>)"));
  EXPECT_FALSE(takes(begin + R"(a<tool_call|>b<|"|>,days:3}<tool_call|>)"));
  EXPECT_FALSE(takes(R"(<|tool_call>call:weather{"city": "Oslo", "days": 3}<tool_call|>)"));
  EXPECT_EQ(forced(forms, ""), R"(<|tool_call>call:weather{city:<|"|>)");
  EXPECT_EQ(forced(forms, R"(<|tool_call>call:weather{city:<|"|>a<|"|>)"), ",days:");
  // Properties come as the template sorts them.
  ToolSet sorted{.json = R"([{"type": "function", "function": {"name": "f", "parameters": {"type":
      "object", "properties": {"b": {"type": "integer"}, "C": {"type": "integer"}, "a": {"type":
      "integer"}}, "required": ["b", "C", "a"], "additionalProperties": false}}}])",
                 .names = {"f"}};
  const auto of_sorted = forms.compiler.compile({.tools = sorted});
  EXPECT_TRUE(
      predgen::takes(*of_sorted, forms.tokenizer, "<|tool_call>call:f{a:1,b:2,C:3}<tool_call|>"));
  EXPECT_FALSE(
      predgen::takes(*of_sorted, forms.tokenizer, "<|tool_call>call:f{b:2,C:3,a:1}<tool_call|>"));
}

TEST(CallGrammar, HoldsPythonsArgumentsToSchemas) {
  Forms forms(ToolFormat::kPython);
  const auto takes = [&](const ToolSet& set, const std::string& call) {
    const auto grammar = forms.compiler.compile({.tools = set});
    return predgen::takes(*grammar, forms.tokenizer,
                          "Yes. <|tool_call_start|>[" + call + "]<|tool_call_end|> Done.");
  };
  EXPECT_TRUE(takes(tools(), R"(weather(city="a \"b\", c", days=14, unit="C"))"));
  EXPECT_TRUE(takes(tools(), R"(bell(), bell(on=True, list=[1, "a"], none=None))"));
  EXPECT_FALSE(takes(tools(), R"(weather(city="a", days=15))"));
  EXPECT_FALSE(takes(tools(), R"(weather(city="a"))"));
  EXPECT_FALSE(takes(tools(), R"(weather(days=3, city="a"))"));
  EXPECT_FALSE(takes(tools(), R"(weather(city="a", days=3, unit="K"))"));
  EXPECT_FALSE(takes(tools(), R"(weather(city="a", days=3, more=1))"));
  EXPECT_FALSE(takes(tools(), R"(weather(city="<|tool_call_end|>", days=3))"));
  EXPECT_FALSE(takes(tools(), R"({"name": "bell", "arguments": {}})"));
  EXPECT_EQ(forced(forms, ""), R"(<|tool_call_start|>[weather(city=")");
  EXPECT_EQ(forced(forms, R"(<|tool_call_start|>[weather(city="a")"), ", days=");
  // A token may end a text and its call.
  GrammarMatcher matcher(*forms.compiler.compile({.tools = tools()}));
  for (const TokenId token : forms.tokenizer.encode("<|tool_call_start|>[bell(a=\"x")) {
    EXPECT_TRUE(matcher.accept(token));
  }
  EXPECT_TRUE(forms.allowed(matcher).at(static_cast<size_t>(forms.tokenizer.encode("\")")[0])));
  const auto with = [](const std::string& parameters) {
    return ToolSet{.json = R"([{"type": "function", "function": {"name": "f", "parameters": )" +
                           parameters + "}}]",
                   .names = {"f"},
                   .strict = {"f"}};
  };
  // None is required; each of some kind.
  const ToolSet mixed = with(R"({"type": "object", "$defs": {"n": {"type": "integer"}},
      "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "boolean"}, "c": {"anyOf":
      [{"type": "array", "items": {"$ref": "#/$defs/n"}}, {"type": "null"}]}, "d": {"enum":
      [true, null, 2, "x"]}, "e": {"type": ["string", "null"]}, "f": {}}})");
  EXPECT_TRUE(takes(mixed, "f()"));
  EXPECT_TRUE(takes(mixed, "f(a=1)"));
  EXPECT_TRUE(takes(mixed, "f(b=True, c=[1, 2], d=None, e=None)"));
  EXPECT_TRUE(takes(mixed, R"(f(a=1, c=None, d="x", e="y", f={"z": true}))"));
  EXPECT_TRUE(takes(mixed, "f(d=True, f=False)"));
  EXPECT_FALSE(takes(mixed, "f(b=true)"));
  EXPECT_FALSE(takes(mixed, "f(b=True, a=1)"));
  EXPECT_FALSE(takes(mixed, "f(, b=True)"));
  EXPECT_FALSE(takes(mixed, "f(d=3)"));
  EXPECT_FALSE(takes(mixed, "f(c=[None])"));
  EXPECT_FALSE(takes(with(R"({"type": "object"})"), "f(a=1)"));
  expect_user_error(
      [&] {
        takes(with(R"({"type": "object", "properties": {"a": {}},
      "additionalProperties": {"type": "string"}})"),
              "f()");
      },
      {"additionalProperties", "Python"});
}

const std::string kFinal = "<|channel|>final<|message|>", kNext = "<|end|><|start|>assistant";
const std::string kAnalysis = "<|channel|>analysis<|message|>Hm {.";
std::string call_in_channel(const std::string& name, const std::string& arguments) {
  return "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>" + arguments;
}

TEST(ChannelGrammar, HoldsCallsAndForms) {
  Forms forms(ToolFormat::kHarmony);
  const auto takes = [&](AnswerRules rules, const std::string& text) {
    rules.start = AnswerStart::kChannels;
    return predgen::takes(*forms.compiler.compile(rules), forms.tokenizer, text);
  };
  const std::string weather = call_in_channel("weather", kArguments);
  const AnswerRules free{.tools = tools()};
  AnswerRules required = free, bell = free;
  required.calls = bell.calls = AnswerRules::Calls::kRequired;
  bell.only_tool = "bell";
  for (const AnswerRules& rules : {free, required}) {
    EXPECT_TRUE(takes(rules, weather));
    EXPECT_TRUE(takes(rules, kAnalysis + kNext + kAnalysis + kNext + weather));
    EXPECT_TRUE(
        takes(rules, " to=functions.weather<|channel|>commentary json<|message|>" + kArguments));
    EXPECT_FALSE(takes(rules, call_in_channel("weather", R"({"city": "Oslo"})")));
    EXPECT_FALSE(takes(rules, call_in_channel("weather", R"({"city": "a<|end|>", "days": 3})")));
    EXPECT_FALSE(takes(rules, call_in_channel("oven", "{}")));
    EXPECT_FALSE(takes(rules, weather + kNext + weather)) << "<|call|> ends the answer";
    EXPECT_FALSE(takes(rules, kAnalysis));
  }
  EXPECT_TRUE(takes(free, kAnalysis + kNext + kFinal + "It is sunny."));
  EXPECT_TRUE(takes(free, "<|channel|>commentary<|message|>I look." + kNext + weather));
  EXPECT_FALSE(takes(free, kFinal + "It is" + kNext));
  EXPECT_FALSE(takes(required, kFinal + "It is sunny."));
  EXPECT_FALSE(takes(bell, weather));
  EXPECT_TRUE(takes(bell, call_in_channel("bell", R"({"a": 1})")));
  const AnswerForm form = schema(R"({"type": "integer"})");
  EXPECT_TRUE(takes({.form = form}, kAnalysis + kNext + kFinal + "12"));
  EXPECT_FALSE(takes({.form = form}, kFinal + "It is"));
  EXPECT_TRUE(takes({.form = form, .tools = tools()}, weather));
  EXPECT_TRUE(takes({.form = form, .tools = tools()}, kFinal + "12"));
  // A text that is no chat has no channels.
  EXPECT_TRUE(forms.takes(form, "12"));
}

TEST(CallGrammar, BeginsInFreeText) {
  Forms forms;
  const auto grammar = forms.compiler.compile({.tools = tools()});
  const std::string call = R"(<tool_call>{"name": "bell", "arguments": {"on": true}}</tool_call>)";
  EXPECT_TRUE(takes(*grammar, forms.tokenizer, "Yes.\n" + call));
  EXPECT_TRUE(takes(*grammar, forms.tokenizer, "Yes.\n" + call + "\n" + call));
  EXPECT_FALSE(takes(*grammar, forms.tokenizer, "Yes.\n<tool_call>"));
  EXPECT_FALSE(takes(*grammar, forms.tokenizer,
                     R"(<tool_call>{"name": "weather", "arguments": {"city": 1}}</tool_call>)"));
}

TEST(CallGrammar, MayForbidCalls) {
  const AnswerRules none{.tools = tools(), .calls = AnswerRules::Calls::kForbidden};
  for (const CallTexts& calls : kCalls) {
    Forms forms(calls.format);
    const auto takes = [&](const std::string& text) {
      return predgen::takes(*forms.compiler.compile(none), forms.tokenizer, text);
    };
    EXPECT_TRUE(takes("It is 12 degrees; the name of it is weather.")) << calls.one;
    EXPECT_FALSE(takes("")) << "nothing is said";
    EXPECT_FALSE(takes(calls.one)) << calls.one;
    const bool may_be_text = calls.format == ToolFormat::kLlama;  // its calls are whole answers
    EXPECT_EQ(takes("Yes.\n" + calls.one), may_be_text) << calls.one;
  }
  Forms written, channels(ToolFormat::kHarmony);
  const auto text = written.compiler.compile(none);
  EXPECT_FALSE(takes(*text, written.tokenizer, R"({"name": "bell", "arguments": {}})"));
  // Nor is there anything like a call.
  EXPECT_FALSE(takes(*text, written.tokenizer, R"({"name":  "bell", "arguments": {}})"));
  EXPECT_FALSE(takes(*text, written.tokenizer, R"({"name": "bells", "arguments": {}})"));
  AnswerRules with_channels = none;
  with_channels.start = AnswerStart::kChannels;
  const auto channel = channels.compiler.compile(with_channels);
  EXPECT_TRUE(takes(*channel, channels.tokenizer, kAnalysis + kNext + kFinal + "Yes."));
  EXPECT_FALSE(takes(*channel, channels.tokenizer, call_in_channel("bell", "{}")));
}

TEST(CallGrammar, HoldsCallsThatAreWrittenOut) {
  Forms forms;
  const auto takes = taker(forms, {.tools = tools()});
  const std::string weather = R"("name": "weather", "arguments": )" + kArguments + "}";
  EXPECT_TRUE(takes("Yes.\n```json\n{" + weather + "\n```\nDone."));
  EXPECT_TRUE(takes("{{" + weather + "}"));
  EXPECT_TRUE(takes("[{" + weather + ", {" + R"("name":"bell", "parameters": {"a": 1}}])"));
  EXPECT_TRUE(takes("{\n  \"name\": \"bell\",\n  \"arguments\": {}\n}"));
  EXPECT_FALSE(takes(R"({"name": "bell"})"));
  EXPECT_FALSE(takes(R"({"name": "weather", "arguments": {"city": "Oslo"}})"));
  EXPECT_FALSE(takes(R"({"name": "bell", "arguments": [1]})"));
  EXPECT_TRUE(takes(R"({"function": {)" + weather + "}"));
  EXPECT_FALSE(takes(R"({"function": {"name": "bell", "arguments": [1]}})"));
  // Other JSON is free.
  for (const char* name : {R"("bel")", R"("bells")", R"("weather-vane")", R"("Ann")", "12", "{}"}) {
    EXPECT_TRUE(takes(std::string(R"(So: {"name": )") + name + R"(, "age": [3]}.)")) << name;
  }
  const auto one = forms.compiler.compile({.tools = tools(), .has_many_calls = false});
  EXPECT_TRUE(predgen::takes(*one, forms.tokenizer, R"({"name": "Ann", "age": 3})"));
  EXPECT_TRUE(
      predgen::takes(*one, forms.tokenizer, R"({"tool_calls": [{"function": {)" + weather + "}]}"));
}

TEST(CallGrammar, TakesAnyNamedJsonForACallWhereItIsTold) {
  Forms forms;
  const auto takes = taker(forms, {.tools = tools(), .json = AnswerRules::NamedJson::kCall});
  const std::string weather = R"("weather", "arguments": )" + kArguments + "}";
  for (const char* key :
       {R"({"name": )", R"({"name":)", "{\n  \"name\": ", "[\n  {\n    \"name\": "}) {
    EXPECT_TRUE(takes(key + weather)) << key;
    EXPECT_FALSE(takes(key + std::string(R"("Ann", "age": 3})"))) << key;
  }
  EXPECT_TRUE(takes(R"(So: {"age": 3}.)"));
  EXPECT_TRUE(takes(""));
}

TEST(CallGrammar, HasOnlyCallsBehindACallThatIsSpoken) {
  Forms forms;
  const std::string bell = R"({"name": "bell", "arguments": {}})";
  const std::string marked = "<tool_call>" + bell + "</tool_call>";
  using Json = AnswerRules::NamedJson;
  for (const Json json : {Json::kText, Json::kCall, Json::kForbidden}) {
    const bool has_text_behind = json == Json::kText, has_json = json != Json::kForbidden;
    for (const bool has_many : {true, false}) {
      const auto takes = taker(forms, {.tools = tools(), .has_many_calls = has_many, .json = json});
      EXPECT_TRUE(takes("Yes. " + marked));
      EXPECT_EQ(takes(marked + "\n" + marked), has_many);
      EXPECT_EQ(takes("[" + bell + ", " + bell + "]"), has_many && has_json);
      EXPECT_EQ(takes(marked + " Done."), has_many && has_text_behind);
      EXPECT_EQ(takes(bell + ",\n \"description\": 1"), has_many && has_text_behind);
    }
  }
}

TEST(CallGrammar, HasOnlyTheArgumentsThatAreNamed) {
  Forms forms;
  const auto takes = [&](const std::string& schema, const std::string& arguments) {
    ToolSet tools;
    tools.names = {"bell"};
    tools.json =
        R"([{"type": "function", "function": {"name": "bell", "parameters": )" + schema + "}}]";
    const auto grammar =
        forms.compiler.compile({.tools = tools, .calls = AnswerRules::Calls::kRequired});
    return predgen::takes(
        *grammar, forms.tokenizer,
        "<tool_call>\n{\"name\": \"bell\", \"arguments\": " + arguments + "}\n</tool_call>");
  };
  const std::string inner = R"({"type": "object", "properties": {"a": {"type": "integer"}})";
  const std::string outer = R"({"type": "object", "properties": {"in": )" + inner +
                            R"(}, "of": {"type": "array", "items": )" + inner + "}}}}";
  EXPECT_TRUE(takes(inner + "}", R"({"a": 1})"));
  EXPECT_FALSE(takes(inner + "}", R"({"a": 1, "b": 2})"));
  EXPECT_FALSE(takes(inner + "}", R"({"b": 2})"));
  EXPECT_TRUE(takes(inner + R"(, "additionalProperties": true})", R"({"a": 1, "b": 2})"));
  EXPECT_TRUE(takes(outer, R"({"in": {"a": 1}, "of": [{"a": 1}]})"));
  EXPECT_FALSE(takes(outer, R"({"in": {"b": 1}})"));
  EXPECT_FALSE(takes(outer, R"({"of": [{"b": 1}]})"));
  const std::string more = R"(, "oneOf": [{"properties": {"b": {}}}, {"properties": {"c": {}}}]})";
  EXPECT_TRUE(takes(inner + more, R"({"a": 1, "b": 2})"));
  const std::string defined = R"({"type": "object", "properties": {"in": {"$ref": "#/$defs/one"}},
      "$defs": {"one": )" + inner +
                              "}}}";
  EXPECT_TRUE(takes(defined, R"({"in": {"a": 1}})"));
  EXPECT_FALSE(takes(defined, R"({"in": {"b": 1}})"));
  // Who names none takes any.
  EXPECT_TRUE(takes(R"({"type": "object"})", R"({"b": 2})"));
}

TEST(CallGrammar, HasNoJsonInTheTextWhereItIsForbidden) {
  Forms forms;
  const auto takes = taker(forms, {.tools = tools(), .json = AnswerRules::NamedJson::kForbidden});
  EXPECT_TRUE(takes("It is on."));
  EXPECT_TRUE(takes(kCalls[0].one));
  EXPECT_TRUE(takes("Now the bell. " + kCalls[0].one));
  EXPECT_FALSE(takes(""));  // the user waits for something
  for (const char* json : {R"({"speech": {}})", "So: {", "```json", R"("name": "bell",)"}) {
    EXPECT_FALSE(takes(json)) << json;
  }
}

TEST(CallGrammar, ComesAfterTheThoughtThatThePromptHasBegun) {
  Forms forms;
  const auto grammar =
      forms.compiler.compile({.form = schema(kCity), .start = AnswerStart::kThought});
  EXPECT_TRUE(takes(*grammar, forms.tokenizer, "Hm {.\n</think>\n\n" + kArguments));
  EXPECT_FALSE(takes(*grammar, forms.tokenizer, "Hm."));
  EXPECT_FALSE(takes(*grammar, forms.tokenizer, "Hm.</think>So: " + kArguments));
  const auto calls = forms.compiler.compile(
      {.tools = tools(), .calls = AnswerRules::Calls::kRequired, .start = AnswerStart::kThought});
  EXPECT_TRUE(takes(*calls, forms.tokenizer, "Hm.</think>" + kCalls[0].one));
}

TEST(CallGrammar, RefusesWhatNobodyCanCall) {
  Forms none(ToolFormat::kNone), forms;
  expect_user_error([&] { none.compiler.compile({.tools = tools()}); }, {"chat template"});
  expect_user_error([&] { forms.compiler.compile({.tools = tools(), .only_tool = "oven"}); },
                    {"oven"});
  ToolSet strict = tools();
  strict.json = R"([{"type": "function", "function": {"name": "weather", "parameters":
      {"type": "object", "dependentSchemas": {}}}}])";
  expect_user_error([&] { forms.compiler.compile({.tools = strict}); },
                    {"function 'weather'", "dependentSchemas"});
}

}  // namespace
}  // namespace predgen
