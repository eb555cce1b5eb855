#include <gtest/gtest.h>

#include <numeric>

#include "core/random.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/pass_table.h"
#include "tests/fakes/token_language.h"

namespace predgen {
namespace {

struct Outcome {
  TokenIds tokens;
  GenerationResult result;
  std::vector<TokenIds> batches;
  int64_t cached = 0;
};

Outcome run(Generator& generator, Engine& engine, const TokenIds& prompt,
            const GenerationConfig& config, int64_t capacity = 512, TokenIds guess = {},
            size_t max_batches = 1000) {
  Sequence sequence = sequence_of(engine, prompt, capacity);
  Outcome run;
  run.result = generator.generate(sequence, {.next = guess, .drafts = {&guess, 1}}, config,
                                  [&](TokenSpan tokens) {
                                    run.batches.emplace_back(tokens.begin(), tokens.end());
                                    return run.batches.size() < max_batches;
                                  });
  run.tokens.assign(sequence.tokens().begin() + static_cast<int64_t>(prompt.size()),
                    sequence.tokens().end());
  run.cached = sequence.num_cached();
  // A state may have to run again what it cannot return to.
  EXPECT_LE(run.cached, sequence.size() - 1);
  if (!engine.reruns_drafts()) {
    EXPECT_EQ(run.cached, sequence.size() - 1);
  }
  return run;
}

TokenIds random_prompt(uint64_t seed) {
  Random random(seed, "prompt");
  TokenIds prompt(1 + random.below(12));
  for (TokenId& id : prompt) id = static_cast<TokenId>(random.below(31));
  return prompt;
}

TEST(AutoregressiveGenerator, OneTokenAPassUntilTheLimit) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  AutoregressiveGenerator generator(engine);
  const Outcome result =
      run(generator, engine, {1, 2, 3}, {.max_new_tokens = 7, .stop_tokens = {}});
  EXPECT_EQ(result.tokens.size(), 7u);
  EXPECT_EQ(result.result.num_forward_passes, 7);
  EXPECT_EQ(result.result.stop_reason, StopReason::kMaxNewTokens);
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{3, 1, 1, 1, 1, 1, 1}));
}

using MakeGenerator = std::function<std::unique_ptr<Generator>(Engine& engine, uint64_t seed)>;
using GuessOfMasks = std::function<TokenId(TokenSpan, int64_t)>;

/// Runs many prompts, limits and guesses with `make` and expects plain decoding's text, within
/// `language` if there is one; of models that keep rows alone and of those that keep a state, too.
void expect_plain_text_of(const MakeGenerator& make, const GuessOfMasks& guess_of_masks,
                          const std::shared_ptr<const TokenLanguage>& language) {
  int64_t passes = 0, plain_passes = 0, tokens = 0, stopped = 0, full = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TokenIds masks(guess_of_masks ? 1 + seed % 5 : 0);
    std::iota(masks.begin(), masks.end(), 31);
    const FakeLanguageModel model({.memory = 1,
                                   .surprise = 3,
                                   .mask_tokens = masks,
                                   .keeps_state = seed >= 200,
                                   .guess = guess_of_masks});
    Engine engine = borrowing_engine(model);
    AutoregressiveGenerator plain(engine);
    const std::unique_ptr<Generator> generator = make(engine, seed);
    const TokenIds prompt = random_prompt(seed);
    GenerationConfig config{.max_new_tokens = 1 + static_cast<int64_t>(seed % 40),
                            .stop_tokens = {3, 17},
                            .answer_begin = std::ssize(prompt)};
    if (seed % 3 == 0) {
      config.sampler = std::make_shared<Sampler>(SamplingConfig{.temperature = 0.02, .seed = seed});
    }
    const int64_t capacity = seed % 5 == 0 ? static_cast<int64_t>(prompt.size()) + 9 : 512;
    if (language) config.constraint = answers_in(language, config.stop_tokens);
    const Outcome expected = run(plain, engine, prompt, config, capacity);
    if (language) {
      ASSERT_EQ(expected.tokens, answer_within(*language, model, prompt, config, capacity)) << seed;
    }
    const TokenIds guess = seed % 2 ? TokenIds{1, 2, 3, 4} : TokenIds(60, 5);
    const Outcome got = run(*generator, engine, prompt, config, capacity, guess);
    ASSERT_EQ(got.tokens, expected.tokens) << seed;
    EXPECT_EQ(got.result.stop_reason, expected.result.stop_reason) << seed;
    EXPECT_EQ(got.result.num_new_tokens, expected.result.num_new_tokens);
    EXPECT_TRUE(language || got.result.num_forward_passes <= expected.result.num_forward_passes);
    passes += got.result.num_forward_passes;
    plain_passes += expected.result.num_forward_passes;
    tokens += expected.result.num_new_tokens;
    stopped += got.result.stop_reason == StopReason::kStopToken;
    full += got.result.stop_reason == StopReason::kCacheFull;
  }
  EXPECT_GT(stopped, 20);
  EXPECT_GT(full, 3);
  EXPECT_LT(passes, plain_passes);  // one that never commits a guess would be equal
  EXPECT_EQ(plain_passes < tokens, language != nullptr);  // forced tokens have no passes
}

void expect_plain_text(const MakeGenerator& make, const GuessOfMasks& guess_of_masks = {}) {
  expect_plain_text_of(make, guess_of_masks, nullptr);
  expect_plain_text_of(make, guess_of_masks, forms());
}

/// Thinks as the model of expect_plain_text(), but for its surprises.
struct DraftModel {
  FakeLanguageModel model{{.memory = 1, .surprise = 0}};
  Engine engine = borrowing_engine(model);
};

/// Answers to other prompts of that model, for the most part.
std::shared_ptr<const AnswerStore> past_answers() {
  const FakeLanguageModel model({.memory = 1, .surprise = 3});
  Engine engine = borrowing_engine(model);
  AutoregressiveGenerator plain(engine);
  std::vector<TokenIds> answers{{1, 2, 3}, {}, {5}};
  for (uint64_t seed = 1000; seed < 1004; ++seed) {
    answers.push_back(run(plain, engine, random_prompt(seed), {.max_new_tokens = 30}).tokens);
  }
  return std::make_shared<AnswerStore>(answers);
}

TEST(JacobiGenerator, GivesTheAutoregressiveTextInFewerPasses) {
  DraftModel draft;
  const auto answers = past_answers();
  std::vector<double> costs;  // so that the window changes
  for (int i = 0; i < 10; ++i) costs.push_back(1 + 0.2 * i);
  expect_plain_text([&](Engine& engine, uint64_t seed) {
    return make_generator(
        {.name = "jacobi",
         .block_size = 1 + static_cast<int64_t>(seed % 9),
         .sources = seed % 2 ? draft_source_names() : std::vector<std::string>(),
         .draft_width = 9,
         .costs = seed % 4 < 2 ? with_draft_cost(0.1, pass_table(costs)) : with_draft_cost(0.1),
         .seed = seed,
         .draft_model = &draft.engine,
         .past_answers = answers},
        engine);
  });
}

TEST(DraftingGenerator, GivesTheAutoregressiveTextInFewerPasses) {
  DraftModel draft;
  const auto answers = past_answers();
  expect_plain_text([&](Engine& engine, uint64_t seed) {
    const int64_t width = 1 + static_cast<int64_t>(seed % 20);
    std::vector<double> costs;  // so that the width changes, down to none
    for (int64_t i = 0; seed % 2 == 0 && i <= width; ++i) {
      costs.push_back(1 + 0.2 * static_cast<double>(i));
    }
    return make_generator(
        {.sources = seed % 3 ? draft_source_names() : std::vector<std::string>{"model"},
         .draft_width = width,
         .costs = costs.empty() ? with_draft_cost(0.1) : with_draft_cost(0.1, pass_table(costs)),
         .draft_model = &draft.engine,
         .past_answers = answers},
        engine);
  });
}

TEST(DraftingGenerator, GivesTheAutoregressiveTextWithMasksAmongOtherGuesses) {
  DraftModel draft;
  const auto answers = past_answers();
  TokenIds following;  // what the draft model has follow each token
  for (TokenId token = 0; token < 31; ++token) {
    Sequence sequence = sequence_of(draft.engine, TokenIds{token}, 8);
    following.push_back(argmax_rows(*draft.engine.run({.sequence = &sequence}).logits)[0]);
  }
  const auto guess = [&](TokenSpan history, int64_t number) {
    TokenId token = history.back();
    for (int64_t i = 0; i <= number; ++i) token = following[static_cast<size_t>(token)];
    return token;
  };
  const std::vector<std::vector<std::string>> sources{
      {}, {"ngram"}, {"past_answers", "ngram"}, draft_source_names()};
  expect_plain_text(
      [&](Engine& engine, uint64_t seed) {
        const int64_t width = 3 + static_cast<int64_t>(seed % 23);
        std::vector<double> costs;
        for (int64_t i = 0; seed % 2 == 0 && i <= width; ++i) {
          costs.push_back(1 + 0.05 * static_cast<double>(i));
        }
        return make_generator({.sources = sources[seed / 2 % 4],
                               .draft_width = width,
                               .costs = costs.empty() ? with_draft_cost(0.1)
                                                      : with_draft_cost(0.1, pass_table(costs)),
                               .draft_model = &draft.engine,
                               .past_answers = answers},
                              engine);
      },
      guess);
}

TEST(DraftingGenerator, FindsItsPlaceInAnOldDraftAgain) {
  // A word more before what stays the same: two passes for the new words, one for all the rest.
  const FakeLanguageModel model({.next = [](TokenSpan history) -> TokenId {
    return history.size() < 4 ? 20 + static_cast<TokenId>(history.size())
                              : 8 + static_cast<TokenId>(history.size());
  }});
  Engine engine = borrowing_engine(model);
  const auto generator = make_generator({.sources = {"ngram"}}, engine);
  Sequence sequence = sequence_of(engine, TokenIds{1, 2}, 64);
  const std::vector<TokenIds> drafts{{5, 12, 13, 14, 15, 16, 17}};
  const GenerationResult result =
      generator->generate(sequence, {.drafts = drafts},
                          {.max_new_tokens = 8, .stop_tokens = {}, .answer_begin = 2}, {});
  EXPECT_EQ(TokenIds(sequence.tokens().begin() + 2, sequence.tokens().end()),
            (TokenIds{22, 23, 12, 13, 14, 15, 16, 17}));
  EXPECT_LE(result.num_forward_passes, 4);
}

TEST(JacobiGenerator, CommitsARightGuessAtOnce) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  AutoregressiveGenerator plain(engine);
  const GenerationConfig config{.max_new_tokens = 24, .stop_tokens = {}};
  const Outcome expected = run(plain, engine, {4, 5}, config);
  JacobiGenerator jacobi(engine, 8);
  const Outcome got = run(jacobi, engine, {4, 5}, config, 512, expected.tokens);
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_EQ(got.result.num_forward_passes, 3);  // 8 of 24 tokens a pass
}

TEST(JacobiGenerator, KeepsItsWidthAndTheLimit) {
  const FakeLanguageModel model({.surprise = 1});
  Engine engine = borrowing_engine(model);
  JacobiGenerator jacobi(engine, 5);
  const Outcome got = run(jacobi, engine, {4, 5}, {.max_new_tokens = 30, .stop_tokens = {}});
  EXPECT_EQ(got.tokens.size(), 30u);
  EXPECT_EQ(model.pass_sizes.front(), 2 + 4);
  for (size_t i = 1; i + 5 < model.pass_sizes.size(); ++i) EXPECT_EQ(model.pass_sizes[i], 5);
}

TEST(JacobiGenerator, NarrowsWhereGuessesDoNotPay) {
  // Nothing is foreseeable, and every token of a pass costs as much as a pass.
  const FakeLanguageModel model({.memory = 1, .surprise = 1});
  Engine engine = borrowing_engine(model);
  const auto cost = [&](int64_t window, const std::vector<double>& seconds) {
    model.pass_sizes.clear();
    const auto jacobi = make_generator(
        {.name = "jacobi", .block_size = window, .costs = pass_table(seconds)}, engine);
    run(*jacobi, engine, {4, 5}, {.max_new_tokens = 200, .stop_tokens = {}});
    return std::accumulate(model.pass_sizes.begin(), model.pass_sizes.end(), int64_t{0});
  };
  const int64_t plain = cost(1, {});
  const std::vector<double> dear{1, 2, 3, 4, 5, 6};  // one more than the window of 5 needs
  EXPECT_LE(static_cast<double>(cost(5, dear)), 1.1 * static_cast<double>(plain));
  EXPECT_GT(cost(5, {}), 3 * plain);  // all are run where costs are not known
  EXPECT_GT(cost(5, std::vector<double>(5, 1)), 3 * plain);  // or tokens cost nothing
}

TEST(Generators, StopBetweenPassesWhenCancelled) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  for (const std::string& name : generator_names()) {
    const auto generator = make_generator({.name = name}, engine);
    const Outcome got =
        run(*generator, engine, {4, 5}, {.max_new_tokens = 30, .stop_tokens = {}}, 512, {}, 2);
    EXPECT_EQ(got.result.stop_reason, StopReason::kCancelled) << name;
    EXPECT_EQ(got.result.num_forward_passes, 2) << name;
    EXPECT_EQ(got.tokens.size(), got.batches[0].size() + got.batches[1].size()) << name;
  }
}

TEST(MakeGenerator, NamesItsList) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  expect_user_error([&] { make_generator({.name = "beam"}, engine); }, {"beam", "ar", "jacobi"});
  expect_user_error([&] { make_generator({.name = "jacobi", .block_size = 0}, engine); },
                    {"block size", "0"});
  expect_user_error([&] { make_generator({.sources = {"oracle"}}, engine); }, {"oracle", "ngram"});
  expect_user_error([&] { make_generator({.sources = {"ngram"}, .draft_width = 0}, engine); },
                    {"draft width", "0"});
  const FakeLanguageModel masked({.mask_tokens = {31}});
  Engine with_masks = borrowing_engine(masked);
  expect_user_error([&] { make_generator({.name = "jacobi"}, with_masks); },
                    {"jacobi", "mask tokens", "'ar'"});
}

TEST(StopReason, HasAName) {
  EXPECT_EQ(to_string(StopReason::kStopToken), "stop_token");
  EXPECT_EQ(to_string(StopReason::kMaxNewTokens), "max_new_tokens");
  EXPECT_EQ(to_string(StopReason::kCacheFull), "cache_full");
  EXPECT_EQ(to_string(StopReason::kCancelled), "cancelled");
}

}  // namespace
}  // namespace predgen
