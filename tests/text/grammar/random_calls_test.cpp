#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "core/json.h"
#include "core/random.h"
#include "tests/fakes/fake_tokenizer.h"
#include "text/grammar/grammar_compiler.h"
#include "text/tools/tool_call_parser.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr int kCallsOfAForm = 180;
/// Of strings, each in some forms; in the others they are text.
constexpr std::array kEnds{"\"", "<|\"|>", "\n</parameter>"};

const std::vector<std::string> kPieces{R"({")",        R"(": ")",     R"(", ")", R"("})",
                                       "city",         "true",        "12",      "\")",
                                       "[TOOL_CALLS]", "<tool_call>", "é",       "\n"};

ToolSet weather_tool() {
  const Json weather = Json::parse(R"({"type": "object", "required": ["city", "days"],
      "properties": {"city": {"type": "string"},
                     "days": {"type": "integer", "minimum": 1, "maximum": 14},
                     "units": {"type": "array", "items": {"type": "string", "enum": ["C", "F"]}},
                     "at": {"type": "object", "properties": {"noon": {"type": "boolean"}},
                            "required": ["noon"], "additionalProperties": false}},
      "additionalProperties": false})");
  const Json list = Json::array(
      {{{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", weather}}}}});
  return {.json = list.dump(), .names = {"weather"}, .strict = {"weather"}};
}

/// Why these are no arguments of `weather`; empty: they are.
std::string weather_fault(const Json& arguments) {
  if (!arguments.is_object()) return "no object";
  for (const auto& [name, value] : arguments.items()) {
    if (name == "city" && value.is_string()) continue;
    if (name == "days" && value.is_number_integer() && value >= 1 && value <= 14) continue;
    if (name == "at" && value.is_object() && value.size() == 1 && value["noon"].is_boolean()) {
      continue;
    }
    const bool are_units =
        name == "units" && value.is_array() &&
        std::ranges::all_of(value, [](const Json& unit) { return unit == "C" || unit == "F"; });
    if (!are_units) return "'" + name + "'";
  }
  return arguments.contains("city") && arguments.contains("days") ? "" : "something is missing";
}

/// Goes on by all of `text`, if it may come.
bool goes_on(std::optional<GrammarMatcher>& matcher, const FakeTokenizer& tokenizer,
             const std::string& text, TokenIds& answer) {
  GrammarMatcher tried = matcher->fork();
  const TokenIds tokens = tokenizer.encode(text);
  const auto takes = [&](TokenId token) { return tried.accept(token); };
  if (!std::ranges::all_of(tokens, takes)) return false;
  matcher.emplace(std::move(tried));
  answer.insert(answer.end(), tokens.begin(), tokens.end());
  return true;
}

/// The answer of a model that says any of the tokens that may come, ends strings now and then, and
/// ends itself where it may.
std::string random_answer(const Grammar& grammar, const FakeTokenizer& tokenizer, Random& random) {
  std::optional<GrammarMatcher> matcher(std::in_place, grammar);
  TokenIds answer;
  while (!matcher->may_end() || random.below(2) == 0) {
    const bool wants_to_end = random.below(16) == 0;
    const char* const end = kEnds[random.below(kEnds.size())];
    if (wants_to_end && goes_on(matcher, tokenizer, end, answer)) continue;
    std::vector<uint32_t> words(static_cast<size_t>((tokenizer.vocab_size() + 31) / 32));
    matcher->allow(words);
    TokenIds allowed;
    for (TokenId token = 0; token < std::ssize(words) * 32; ++token) {
      if ((words[static_cast<size_t>(token) / 32] >> (token % 32) & 1) != 0) {
        allowed.push_back(token);
      }
    }
    if (allowed.empty()) break;
    answer.push_back(allowed[random.below(allowed.size())]);
    if (!matcher->accept(answer.back())) break;
  }
  if (!matcher->may_end()) return "a dead end";
  return replace_ill_formed_utf8(tokenizer.decode(answer, /*keep_special=*/true));
}

TEST(RandomCalls, AreWellFormedWhateverAModelSays) {
  int num_calls = 0;
  for (const ToolFormat format : {ToolFormat::kHermes, ToolFormat::kLlama, ToolFormat::kMistral,
                                  ToolFormat::kXml, ToolFormat::kGemma, ToolFormat::kPython}) {
    const FakeTokenizer tokenizer(kPieces, format);
    GrammarCompiler compiler(tokenizer);
    const auto grammar = compiler.compile(
        {.tools = weather_tool(), .calls = AnswerRules::Calls::kRequired, .has_many_calls = false});
    for (int i = 0; i < kCallsOfAForm; ++i) {
      Random random(7, "random calls", static_cast<uint64_t>(i));
      const std::string answer = random_answer(*grammar, tokenizer, random);
      ToolCallParser parser(format, weather_tool());
      auto parts = parser.push(answer);
      std::ranges::move(parser.finish(), std::back_inserter(parts));
      ASSERT_EQ(parts.size(), 1u) << answer;
      ASSERT_EQ(parts[0].kind, ToolCallParser::Part::Kind::kCall) << answer;
      EXPECT_EQ(parts[0].call.name, "weather");
      EXPECT_EQ(weather_fault(Json::parse(parts[0].call.arguments)), "") << answer;
      ++num_calls;
    }
  }
  EXPECT_GE(num_calls, 1000);
}

}  // namespace
}  // namespace predgen
