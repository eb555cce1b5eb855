#include "runtime/generate/model_source.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "runtime/generate/drafting_generator.h"
#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/pass_table.h"

namespace predgen {
namespace {

using Paths = std::optional<std::vector<TokenIds>>;

TokenIds answer_of(const LanguageModel& model, const TokenIds& prompt, GenerationConfig config) {
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, prompt, 512);
  config.answer_begin = std::ssize(prompt);
  AutoregressiveGenerator(engine).generate(sequence, {}, config, {});
  return {sequence.tokens().begin() + std::ssize(prompt), sequence.tokens().end()};
}

TokenIds with(TokenIds tokens, const TokenIds& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

/// A source whose drafts are as long as they may be.
struct Drafter {
  explicit Drafter(const FakeLanguageModel& model, int64_t vocab_size = 31,
                   DraftWidth width = DraftWidth(16))
      : engine(borrowing_engine(model)), source(engine, vocab_size, std::move(width)) {}
  Paths propose(const TokenIds& tokens, int64_t max_tokens, const GenerationConfig& config = {}) {
    return source.propose(tokens, {}, config, {TokenTree(), max_tokens});
  }
  Engine engine;
  ModelSource source;
};

TEST(ModelSource, SaysWhatItsModelWouldSay) {
  const FakeLanguageModel model({});
  const TokenIds answer = answer_of(model, {1, 2, 3}, {.max_new_tokens = 8, .stop_tokens = {}});
  Drafter drafter(model);
  EXPECT_EQ(drafter.propose({1, 2, 3}, 8), Paths({answer}));
  EXPECT_EQ(drafter.engine.num_forward_passes(), 8);
  // Up to a stop token.
  const TokenIds until(answer.begin(), std::ranges::find(answer, answer[4]) + 1);
  EXPECT_EQ(drafter.propose({1, 2, 3}, 8, {.stop_tokens = {answer[4]}}), Paths({until}));
}

TEST(ModelSource, FollowsTheTextAndRunsOnlyWhatIsNew) {
  const FakeLanguageModel model({});
  Drafter drafter(model);
  Random random(5, "text");
  TokenIds text{1, 2, 3};
  for (int step = 0; step < 60; ++step) {
    const TokenIds expected = answer_of(model, text, {.max_new_tokens = 4, .stop_tokens = {}});
    ASSERT_EQ(drafter.propose(text, 4), Paths({expected})) << step;
    if (random.below(3) == 0) text.resize(1 + random.below(text.size()));  // revised
    const auto right = static_cast<int64_t>(random.below(5));
    text.insert(text.end(), expected.begin(), expected.begin() + right);
    text.push_back(static_cast<TokenId>(random.below(31)));
  }
  text.resize(40, 7);
  drafter.propose(text, 4);
  model.pass_sizes.clear();
  drafter.propose(with(text, {8, 9}), 4);
  EXPECT_LE(model.pass_sizes.front(), 3);
}

TEST(ModelSource, RunsAHistoryBeforeItIsAsked) {
  const FakeLanguageModel model({});
  const TokenIds history(40, 5), text = with(history, {1, 2});
  const TokenIds expected = answer_of(model, text, {.max_new_tokens = 4, .stop_tokens = {}});
  Drafter drafter(model);
  model.pass_sizes.clear();
  drafter.source.prefill(history);
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{40}));
  model.pass_sizes.clear();
  EXPECT_EQ(drafter.propose(text, 4), Paths({expected}));
  EXPECT_LE(model.pass_sizes.front(), 3);
  // Not what it could draft nothing for.
  model.pass_sizes.clear();
  drafter.source.prefill({});
  drafter.source.prefill(TokenIds{1, 31});
  drafter.source.prefill(TokenIds(4097, 1));
  Drafter dear(model, 31, DraftWidth(1, {.costs = pass_table({1, 9})}));
  dear.source.prefill(history);
  EXPECT_TRUE(model.pass_sizes.empty());
}

TEST(ModelSource, HasNoIdeaBeyondItsContextAndItsVocabulary) {
  const FakeLanguageModel model({.max_positions = 10});
  Drafter drafter(model);
  EXPECT_EQ(drafter.propose(TokenIds(8, 1), 16)->front().size(), 3u);  // the last one is not run
  EXPECT_EQ(drafter.propose(TokenIds(10, 1), 16)->front().size(), 1u);
  EXPECT_TRUE(drafter.propose(TokenIds(11, 1), 16)->empty());
  EXPECT_TRUE(drafter.propose({1, 31}, 16)->empty());

  const FakeLanguageModel larger({.vocab_size = 40, .next = [](TokenSpan history) -> TokenId {
                                    return history.size() < 5 ? 30 : 31;
                                  }});
  Drafter padded(larger);
  EXPECT_EQ(padded.propose({1, 2, 3}, 16), Paths({{30, 30}}));
  EXPECT_TRUE(padded.propose({1, 2, 3, 4, 5}, 16)->empty());
}

TEST(ModelSource, StopsBetweenItsPasses) {
  const FakeLanguageModel model({});
  Drafter drafter(model);
  int64_t asked = 0;
  const GenerationConfig stopped{.should_stop = [&] { return ++asked == 3; }};
  EXPECT_EQ(drafter.propose({1, 2, 3}, 16, stopped), std::nullopt);
  EXPECT_EQ(drafter.engine.num_forward_passes(), 3);
  for (const std::string& name : generator_names()) {  // then the model has no pass either
    Engine engine = borrowing_engine(model);
    const auto generator = make_generator({.name = name,
                                           .sources = {"model"},
                                           .costs = with_draft_cost(0.01),
                                           .draft_model = &drafter.engine},
                                          engine);
    Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3}, 64);
    asked = 0;
    const GenerationResult result = generator->generate(sequence, {}, stopped, {});
    EXPECT_EQ(result.stop_reason, StopReason::kCancelled) << name;
    EXPECT_EQ(result.num_new_tokens + engine.num_forward_passes(), 0) << name;
    EXPECT_EQ(asked, 3);
  }
}

TEST(ModelSource, DraftsAsMuchAsIsWorthItsPasses) {
  const FakeLanguageModel model({});
  const auto costed = [](double cost) {
    std::vector<double> costs;
    for (int width = 0; width <= 16; ++width) costs.push_back(1 + cost * width);
    return DraftWidth(16, {.costs = pass_table(costs)});
  };
  Drafter dear(model, 31, costed(1));  // no draft is worth as many passes of the model
  EXPECT_TRUE(dear.propose({1, 2, 3}, 16)->empty());
  EXPECT_EQ(dear.engine.num_forward_passes(), 0);

  Drafter right(model, 31, costed(0.1)), wrong(model, 31, costed(0.1));
  TokenIds good{1, 2, 3}, bad{1, 2, 3};
  for (int step = 0; step < 40; ++step) {
    good = with(good, right.propose(good, 16).value().at(0));
    const Paths paths = wrong.propose(bad, 16);
    bad.push_back(paths->empty() ? 1 : (paths->front().front() + 1) % 31);
  }
  EXPECT_EQ(right.propose(good, 16)->front().size(), 16u);
  EXPECT_LT(wrong.engine.num_forward_passes(), 40);  // it is tried again now and then
}

TEST(DraftingGenerator, AModelThatThinksAlikeIsRightInEveryPass) {
  const FakeLanguageModel model({});
  for (const bool samples : {false, true}) {
    GenerationConfig config{.max_new_tokens = 36, .stop_tokens = {}, .answer_begin = 3};
    if (samples) config.sampler = std::make_shared<Sampler>(SamplingConfig{.seed = 7});
    Engine engine = borrowing_engine(model), draft = borrowing_engine(model);
    const auto generator = make_generator({.sources = {"model"},
                                           .draft_width = 8,
                                           .costs = with_draft_cost(0.001),
                                           .draft_model = &draft},
                                          engine);
    Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3}, 512);
    const GenerationResult result = generator->generate(sequence, {}, config, {});
    EXPECT_EQ(TokenIds(sequence.tokens().begin() + 3, sequence.tokens().end()),
              answer_of(model, {1, 2, 3}, config));
    EXPECT_EQ(result.num_forward_passes, 4) << samples;  // 8 drafted and 1 more in each
    EXPECT_EQ(engine.num_forward_passes(), 4);
    EXPECT_EQ(draft.num_forward_passes(), 4 * 8);
  }
}

TEST(DraftingGenerator, TheModelDraftsWhatOtherSourcesLeaveRoomFor) {
  const FakeLanguageModel model({});
  const TokenIds answer = answer_of(model, {1, 2, 3}, {.max_new_tokens = 12, .stop_tokens = {}});
  const TokenIds wrong(5, (answer[0] + 1) % 31), right(answer.begin(), answer.begin() + 5);
  for (const TokenIds& old : {wrong, right}) {
    Engine engine = borrowing_engine(model), draft = borrowing_engine(model);
    const auto generator = make_generator({.sources = {"ngram", "model"},
                                           .draft_width = 8,
                                           .costs = with_draft_cost(0.001),
                                           .draft_model = &draft},
                                          engine);
    Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3}, 512);
    generator->generate(sequence, {.drafts = {&old, 1}},
                        {.max_new_tokens = 12, .stop_tokens = {}, .answer_begin = 3},
                        [](TokenSpan) { return false; });
    EXPECT_EQ(model.pass_sizes.back(), 3 + 8);
    // Beside five wrong ones there is room for three; after five right ones it goes on.
    const int64_t num_drafted = old == right ? 8 : 3;
    EXPECT_EQ(draft.num_forward_passes(), num_drafted);
    EXPECT_EQ(TokenIds(sequence.tokens().begin() + 3, sequence.tokens().end()),
              TokenIds(answer.begin(), answer.begin() + num_drafted + 1));
  }
}

TEST(DraftingGenerator, AWrongGuessTakesNoRoomFromTheModel) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model), draft = borrowing_engine(model);
  const auto generator = make_generator({.sources = {"model"},
                                         .draft_width = 8,
                                         .costs = with_draft_cost(0.001),
                                         .draft_model = &draft},
                                        engine);
  Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3}, 512);
  const TokenIds answer = answer_of(model, {1, 2, 3}, {.max_new_tokens = 1, .stop_tokens = {}});
  const TokenIds guess(40, (answer[0] + 1) % 31);
  const GenerationResult result =
      generator->generate(sequence, {.next = guess}, {.max_new_tokens = 19, .stop_tokens = {}}, {});
  EXPECT_EQ(result.num_forward_passes, 3);  // 1 token, then 9 and 9
}

TEST(ModelSource, ChangesNoTextWhateverStopsItOrIsRevised) {
  const FakeLanguageModel rows({.surprise = 3}), smaller_rows({.vocab_size = 29, .surprise = 0});
  const FakeLanguageModel states({.surprise = 3, .keeps_state = true}),
      smaller_states({.vocab_size = 29, .surprise = 0, .keeps_state = true});
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const FakeLanguageModel& model = seed < 60 ? rows : states;
    Random random(seed, "schedule");
    Engine engine = borrowing_engine(model);
    Engine draft = borrowing_engine(seed < 60 ? smaller_rows : smaller_states);
    const auto generator = make_generator({.name = seed % 2 ? "ar" : "jacobi",
                                           .block_size = 6,
                                           .sources = {"model"},
                                           .costs = with_draft_cost(0.05),
                                           .draft_model = &draft},
                                          engine);
    TokenIds prompt(1 + random.below(20));
    for (TokenId& id : prompt) id = static_cast<TokenId>(random.below(31));
    GenerationConfig config{.max_new_tokens = 40, .stop_tokens = {}};
    config.answer_begin = std::ssize(prompt);
    if (seed % 3 == 0) config.sampler = std::make_shared<Sampler>(SamplingConfig{.seed = seed});
    Sequence sequence = sequence_of(engine, prompt, 512);
    while (true) {
      GenerationConfig part = config;
      part.max_new_tokens -= sequence.size() - config.answer_begin;
      if (random.below(2) == 0) part.should_stop = [&] { return random.below(12) == 0; };
      const GenerationResult result = generator->generate(sequence, {}, part, {});
      if (result.stop_reason == StopReason::kMaxNewTokens) break;
      if (random.below(4) > 0) continue;
      const TokenIds tokens(sequence.tokens().begin(), sequence.tokens().end());
      sequence.replace(TokenSpan(tokens).first(tokens.size() / 2));  // another prompt in between
      generator->generate(sequence, {}, {.max_new_tokens = 5, .stop_tokens = {}}, {});
      sequence.replace(tokens);
    }
    ASSERT_EQ(TokenIds(sequence.tokens().begin() + std::ssize(prompt), sequence.tokens().end()),
              answer_of(model, prompt, config))
        << seed;
    EXPECT_LT(engine.num_forward_passes(), 80);
  }
}

TEST(MakeGenerator, TheSourceModelNeedsAModel) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  expect_user_error([&] { make_generator({.sources = {"model"}}, engine); },
                    {"'model'", "draft model"});
}

TEST(MakeGenerator, ADraftModelAsDearAsTheModelDraftsNothing) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model), draft = borrowing_engine(model);
  for (const std::string& name : generator_names()) {
    const auto generator =
        make_generator({.name = name, .sources = {"model"}, .draft_model = &draft}, engine);
    Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3}, 512);
    generator->generate(sequence, {}, {.max_new_tokens = 20, .stop_tokens = {}}, {});
    EXPECT_EQ(draft.num_forward_passes(), 0) << name;
  }
}

TEST(MakeGenerator, MeasuresWhatADraftCosts) {
  const FakeLanguageModel model({}), other({});
  Engine engine = borrowing_engine(model), draft = borrowing_engine(other);
  GeneratorConfig config{.block_size = 3, .draft_width = 4, .draft_model = &draft};
  measure_costs(config, engine);
  EXPECT_EQ(model.pass_sizes.back(), 5);  // of 0 to 4 drafted tokens
  EXPECT_GT(config.costs.of_draft_model().of(1), Seconds(0));
  config.block_size = 8;
  measure_costs(config, engine);
  EXPECT_EQ(model.pass_sizes.back(), 8);
}

}  // namespace
}  // namespace predgen
