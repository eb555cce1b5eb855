#include "runtime/generate/drafting_generator.h"

#include <gtest/gtest.h>

#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/pass_table.h"

namespace predgen {
namespace {

using Sizes = std::vector<int64_t>;

const TokenIds kPrompt{4, 5};
const TokenIds kMasks{31, 32, 33};  // the fake's

TokenIds decoded(Generator& generator, Engine& engine, const GenerationConfig& config,
                 GenerationResult& result, const Guess& guess = {}, int64_t capacity = 512) {
  Sequence sequence = sequence_of(engine, kPrompt, capacity);
  result = generator.generate(sequence, guess, config, {});
  EXPECT_EQ(sequence.num_cached(), sequence.size() - 1);
  const TokenIds tokens(sequence.tokens().begin() + std::ssize(kPrompt), sequence.tokens().end());
  // What it has cached is what the model goes on from.
  if (sequence.size() <= sequence.capacity()) {
    const at::Tensor logits_1V = *engine.run({.sequence = &sequence}).logits;
    Sequence fresh = sequence_of(engine, sequence.tokens(), 512);
    EXPECT_TRUE(at::equal(logits_1V, *engine.run({.sequence = &fresh}).logits));
  }
  return tokens;
}

/// Plain decoding's text.
TokenIds plain_text(GenerationConfig config) {
  config.answer_begin = std::ssize(kPrompt);
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  GenerationResult result;
  const TokenIds text = decoded(*make_generator({}, engine), engine, config, result);
  EXPECT_EQ(result.num_forward_passes, std::ssize(text));
  return text;
}

/// Which of the masks behind a text are right.
using IsRight = std::function<bool(TokenSpan history, int64_t number)>;

/// Decodes with masks, and compares with the plain text.
struct Masked {
  explicit Masked(GenerationConfig with, IsRight is_right, GeneratorConfig how = {},
                  const Guess& guess = {}, int64_t capacity = 512, TokenIds masks = kMasks) {
    const TokenIds whole = plain_text(with);
    with.answer_begin = std::ssize(kPrompt);
    const FakeLanguageModel model({.mask_tokens = std::move(masks),
                                   .guess = [&](TokenSpan history, int64_t number) -> TokenId {
                                     const size_t place = history.size() - kPrompt.size() +
                                                          static_cast<size_t>(number);
                                     const TokenId right = place < whole.size() ? whole[place] : 0;
                                     return is_right(history, number) ? right : (right + 1) % 31;
                                   }});
    Engine engine = borrowing_engine(model);
    const auto generator = make_generator(how, engine);
    const TokenIds tokens = decoded(*generator, engine, with, result, guess, capacity);
    EXPECT_EQ(tokens, TokenIds(whole.begin(), whole.begin() + std::ssize(tokens)));
    sizes = Sizes(model.pass_sizes.begin(), model.pass_sizes.begin() + result.num_forward_passes);
  }
  GenerationResult result;
  Sizes sizes;  // of passes, in tokens
};

bool always(TokenSpan, int64_t) { return true; }
bool never(TokenSpan, int64_t) { return false; }

TEST(DraftingGenerator, MasksThatAreRightGiveATokenEachAndOneMore) {
  const Masked run({.max_new_tokens = 21, .stop_tokens = {}}, always);
  // The prompt with masks; pending token, three guesses and masks behind each of the four. The last
  // pass can use guesses of two.
  EXPECT_EQ(run.sizes, (Sizes{2 + 3, 16, 16, 16, 16, 1 + 3 + 4 * 2}));
  EXPECT_EQ(run.result.num_new_tokens, 21);
  EXPECT_EQ(run.result.num_checked, 15);  // no mask
  EXPECT_EQ(run.result.num_accepted, 15);
}

TEST(DraftingGenerator, MasksThatAreWrongCostNoPass) {
  const Masked run({.max_new_tokens = 6, .stop_tokens = {}}, never);
  EXPECT_EQ(run.result.num_forward_passes, 6);
  EXPECT_EQ(run.result.num_accepted, 0);
  // One token of the answer each; the last have fewer to come.
  EXPECT_EQ(run.sizes, (Sizes{2 + 3, 16, 1 + 3 + 4 * 2, 1 + 2 + 3 * 1, 1 + 1, 1}));
}

TEST(DraftingGenerator, TheMasksBehindTheLastRightTokenMakeTheNextGuess) {
  // The nearest mask alone is right: two tokens a pass.
  const Masked nearest({.max_new_tokens = 21, .stop_tokens = {}},
                       [](TokenSpan, int64_t number) { return number == 1; });
  EXPECT_EQ(nearest.result.num_forward_passes, 1 + 10);
  // All are right where the text so far is even.
  const Masked sometimes({.max_new_tokens = 40, .stop_tokens = {}},
                         [](TokenSpan history, int64_t) { return history.size() % 2 == 0; });
  // Of 2 tokens on masks guess 3: 4 more, of 6 on again, and so on.
  EXPECT_EQ(sometimes.result.num_forward_passes, 1 + 10);
}

TEST(DraftingGenerator, MasksBehindAGuessComeBeforeWhatSourcesExpect) {
  const std::vector<TokenIds> drafts{TokenIds(60, 5)};
  const Masked run({.max_new_tokens = 21, .stop_tokens = {}}, always, {.sources = {"ngram"}},
                   {.drafts = drafts});
  EXPECT_EQ(run.result.num_forward_passes, 6);  // as without sources
  EXPECT_EQ(run.sizes[1], 1 + 3 + 4 * 3 + 1);   // one token of a source's
}

TEST(DraftingGenerator, AGuessFromOutsideIsCheckedBesideMasks) {
  for (const bool samples : {false, true}) {
    GenerationConfig config{.max_new_tokens = 30, .stop_tokens = {}};
    if (samples) config.sampler = std::make_shared<Sampler>(SamplingConfig{.temperature = 2});
    TokenIds next = plain_text(config);
    next[5] = (next[5] + 1) % 31;
    const Masked run(config, always, {}, {.next = next});
    EXPECT_EQ(run.sizes[0], 2 + 12 + 3);
    // 6 new tokens, and no masks behind the last right one. What was drawn behind the wrong one is
    // no guess; the likeliest there is one.
    EXPECT_EQ(run.sizes[1], samples ? 1 + 3 : 1 + 7 + 2 * 3);
    EXPECT_LE(run.result.num_forward_passes, 1 + 1 + 6);
  }
}

TEST(DraftingGenerator, MasksKeepToTheWidth) {
  for (int64_t width = 3; width <= 20; ++width) {
    const int64_t num_masks = width < 8 ? 1 : width < 15 ? 2 : 3;
    const Masked run({.max_new_tokens = 61, .stop_tokens = {}}, always, {.draft_width = width});
    const int64_t each = 1 + num_masks;
    EXPECT_EQ(run.result.num_forward_passes, 1 + 60 / each) << width;
    EXPECT_EQ(run.sizes[1], each * each) << width;
    EXPECT_LE(std::ranges::max(run.sizes), 1 + width) << width;
  }
  expect_user_error(
      [] { Masked({.max_new_tokens = 9, .stop_tokens = {}}, always, {.draft_width = 2}); },
      {"draft width", "2", "mask", "at least 3"});
}

TEST(DraftingGenerator, MasksKeepToTheCacheAndTheLimit) {
  for (int64_t capacity = 2; capacity < 30; ++capacity) {
    const Masked run({.max_new_tokens = 40, .stop_tokens = {}}, always, {}, {}, capacity);
    EXPECT_EQ(run.result.num_new_tokens, capacity - 1) << capacity;
    EXPECT_EQ(run.result.stop_reason, StopReason::kCacheFull) << capacity;
  }
  for (int64_t limit = 1; limit < 14; ++limit) {
    const Masked run({.max_new_tokens = limit, .stop_tokens = {}}, always);
    EXPECT_EQ(run.result.num_new_tokens, limit);
    EXPECT_EQ(run.result.num_forward_passes, 1 + (limit - 1 + 3) / 4) << limit;
  }
}

TEST(DraftingGenerator, MasksGuessWhatASamplerDraws) {
  const auto sampler = std::make_shared<Sampler>(SamplingConfig{.temperature = 2, .seed = 3});
  const GenerationConfig config{.max_new_tokens = 21, .stop_tokens = {}, .sampler = sampler};
  EXPECT_EQ(Masked(config, always).result.num_forward_passes, 6);
  EXPECT_EQ(Masked(config, never).result.num_forward_passes, 21);
}

TEST(DraftingGenerator, RunsMasksAsLongAsTheyPay) {
  std::vector<double> seconds;
  for (int i = 0; i <= 16; ++i) seconds.push_back(1 + 0.05 * i);
  const GeneratorConfig cheap{.costs = pass_table(seconds)};
  const GenerationConfig config{.max_new_tokens = 200, .stop_tokens = {}};
  const Masked right(config, always, cheap);
  EXPECT_EQ(right.sizes[40], 16);
  const Masked wrong(config, never, cheap);
  // One guess, as good as is believed at first, does not pay for two masks here; more would.
  const Masked dear({.max_new_tokens = 9, .stop_tokens = {}}, always,
                    {.costs = PassCosts::given(Seconds(0.75), Seconds(0.25))}, {}, 512, {31});
  EXPECT_EQ(dear.sizes, (Sizes{2, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_GT(std::ranges::count(wrong.sizes, 1), 120);
  EXPECT_GT(std::ranges::max(std::span(wrong.sizes).last(140)), 1);  // tried again now and then
}

TEST(DraftingGenerator, WhereMasksDoNotPaySourcesDoAsWithoutThem) {
  const GenerationConfig config{.max_new_tokens = 60, .stop_tokens = {}};
  const std::vector<TokenIds> drafts{plain_text(config)};
  const GeneratorConfig how{.sources = {"ngram"},
                            .costs = PassCosts::given(Seconds(0.75), Seconds(0.25))};
  const Masked with(config, always, how, {.drafts = drafts});
  const Masked without(config, always, how, {.drafts = drafts}, 512, {});
  EXPECT_EQ(with.sizes, without.sizes);
  EXPECT_GT(std::ranges::max(with.sizes), 2);
}

TEST(MakeGenerator, MasksCanBeLeftAlone) {
  const FakeLanguageModel model({.mask_tokens = kMasks});
  Engine engine = borrowing_engine(model);
  GenerationResult result;
  const TokenIds tokens = decoded(*make_generator({.uses_masks = false}, engine), engine,
                                  {.max_new_tokens = 9, .stop_tokens = {}}, result);
  EXPECT_EQ(tokens, plain_text({.max_new_tokens = 9, .stop_tokens = {}}));
  EXPECT_EQ(result.num_forward_passes, 9);
}

}  // namespace
}  // namespace predgen
