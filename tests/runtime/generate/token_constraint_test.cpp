#include "runtime/generate/token_constraint.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "core/random.h"
#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/pass_table.h"
#include "text/grammar/grammar_compiler.h"
#include "text/token_ids.h"

namespace predgen {
namespace {

const FakeTokenizer kTokens({R"({")",        R"(": ")",    R"(": )", R"(", ")", R"("})",
                             "name",         " arguments", "city",   "Oslo",    "Ber",
                             "gen",          "days",       "unit",   "celsius", "<tool_call>",
                             "</tool_call>", "get",        "_",      "weather", "arguments",
                             "fahren",       "heit"});

const char* const kWeather = R"({"type": "object", "required": ["city", "days", "unit"],
    "properties": {"city": {"enum": ["Oslo", "Bergen", "Trondheim"]},
      "days": {"type": "integer", "minimum": 1, "maximum": 365},
      "unit": {"type": "string", "maxLength": 3}}, "additionalProperties": false})";

std::shared_ptr<const Grammar> grammar_of(const AnswerRules& rules) {
  static GrammarCompiler compiler(kTokens);
  return compiler.compile(rules);
}

GenerationConfig config_for(const std::shared_ptr<const Grammar>& grammar) {
  return {.max_new_tokens = 80,
          .stop_tokens = {FakeTokenizer::kEnd},
          .constraint = std::make_shared<AnswerConstraint>(
              std::make_shared<GrammarConstraint>(grammar, kTokens), TokenIds{FakeTokenizer::kEnd},
              kTokens.vocab_size()),
          .answer_begin = 2};
}

struct Said {
  TokenIds tokens;
  int64_t passes = 0;
};

Said say(Engine& engine, const GeneratorConfig& how, const GenerationConfig& config,
         const TokenIds& prompt, const TokenIds& guess = {}) {
  Sequence sequence = sequence_of(engine, prompt, 512);
  const GenerationResult result =
      make_generator(how, engine)
          ->generate(sequence, {.next = guess, .drafts = {&guess, 1}}, config, {});
  const TokenSpan answer = sequence.tokens().subspan(prompt.size());
  return {{answer.begin(), answer.end()}, result.num_forward_passes};
}

/// By the definition: a pass for each token, and of all tokens the likeliest that may come.
TokenIds plainly(Engine& engine, const Grammar& grammar, const GenerationConfig& config,
                 const TokenIds& prompt) {
  Sequence sequence = sequence_of(engine, prompt, 512);
  GrammarMatcher matcher(grammar);
  TokenIds answer;
  while (std::ssize(answer) < config.max_new_tokens) {
    const at::Tensor logits_V = (*engine.run({.sequence = &sequence}).logits)[0];
    at::Tensor allowed_V = at::zeros({logits_V.numel()}, at::kBool);
    for (TokenId token = 0; token < logits_V.numel(); ++token) {
      const bool may_come = is_stop_token(config.stop_tokens, token) ? matcher.may_end()
                                                                     : matcher.fork().accept(token);
      if (may_come) allowed_V[token] = true;
    }
    const TokenId token =
        config.sampler
            ? config.sampler->sample(logits_V, sequence.tokens(), std::ssize(prompt), allowed_V)
            : logits_V.masked_fill(allowed_V.logical_not(), -1e30).argmax().item<int64_t>();
    answer.push_back(token);
    sequence.append({&token, 1});
    if (is_stop_token(config.stop_tokens, token)) break;
    matcher.accept(token);
  }
  return answer;
}

TEST(GrammarConstraint, GivesTheSameTextWithEveryMethodWidthAndSource) {
  const std::shared_ptr<const Grammar> grammar =
      grammar_of({.form = AnswerForm{.text = kWeather, .name = "the weather"}});
  const FakeLanguageModel model({.vocab_size = kTokens.vocab_size(), .surprise = 5});
  const FakeLanguageModel small({.vocab_size = kTokens.vocab_size(), .surprise = 0});
  Engine engine = borrowing_engine(model), draft = borrowing_engine(small);
  const PassCosts dear = PassCosts::given(Seconds(1), Seconds(1));
  const std::vector<GeneratorConfig> ways{
      {.name = "ar"},
      {.name = "jacobi", .block_size = 2},
      {.name = "jacobi", .block_size = 16},
      {.name = "ar", .sources = {"ngram"}},
      {.name = "ar", .sources = {"ngram"}, .costs = dear},
      {.name = "ar", .sources = {"model"}, .draft_model = &draft},
      {.name = "jacobi", .block_size = 6, .sources = {"ngram", "model"}, .draft_model = &draft}};
  int64_t passes = 0, tokens = 0, ended = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed, "prompt");
    const TokenIds prompt{static_cast<TokenId>(random.below(200)), 7};
    GenerationConfig config = config_for(grammar);
    if (seed % 3 == 0) {
      config.sampler = std::make_shared<Sampler>(SamplingConfig{.temperature = 0.5, .seed = seed});
    }
    const TokenIds expected = plainly(engine, *grammar, config, prompt);
    ended += expected.back() == FakeTokenizer::kEnd;
    const TokenIds guess = kTokens.encode(R"({"city": "Bergen", "days": 12, "unit": "C"})");
    for (const GeneratorConfig& way : ways) {
      const Said said = say(engine, way, config, prompt, seed % 2 ? guess : TokenIds{});
      ASSERT_EQ(said.tokens, expected) << way.name << " " << seed;
      passes += said.passes;
      tokens += std::ssize(said.tokens);
    }
    if (expected.back() != FakeTokenizer::kEnd) continue;
    const Json value = Json::parse(kTokens.decode({expected.begin(), expected.end() - 1}));
    EXPECT_TRUE(value["days"] >= 1 && value["days"] <= 365) << value;
  }
  EXPECT_EQ(ended, 12);
  EXPECT_LT(passes, tokens * 3 / 4);
}

/// The call of a model that knows what it wants, in at least 25 tokens.
TEST(GrammarConstraint, ACallTakesAtMostFourTenthsOfThePasses) {
  const Json weather = Json::parse(kWeather);
  const Json list = Json::array(
      {{{"type", "function"}, {"function", {{"name", "get_weather"}, {"parameters", weather}}}}});
  const AnswerRules rules{.tools = {.json = list.dump(), .names = {"get_weather"}},
                          .calls = AnswerRules::Calls::kRequired,
                          .has_many_calls = false};
  TokenIds call = kTokens.encode(
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bergen\", \"days\": 3, "
      "\"unit\": \"C\"}}\n</tool_call>");
  call.push_back(FakeTokenizer::kEnd);
  ASSERT_GE(std::ssize(call), 25);
  const TokenIds prompt{1, 2};
  const FakeLanguageModel model(
      {.vocab_size = kTokens.vocab_size(), .next = [&](TokenSpan history) {
         const size_t at = history.size() - prompt.size();
         return at < call.size() ? call[at] : TokenId{0};
       }});
  Engine engine = borrowing_engine(model);
  for (const char* decoder : {"ar", "jacobi"}) {
    const Said said = say(engine, {.name = decoder}, config_for(grammar_of(rules)), prompt);
    EXPECT_EQ(said.tokens, call) << decoder << ": " << kTokens.decode(said.tokens);
    EXPECT_LE(said.passes * 10, std::ssize(call) * 4) << decoder;
  }
}

}  // namespace
}  // namespace predgen
