#include "runtime/speculate/input_time_speculator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/random.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/generate/make_generator.h"
#include "runtime/speculate/make_verifier.h"
#include "runtime/speculate/verifier.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/pass_table.h"
#include "tests/fakes/speculation_campaign.h"

namespace predgen {
namespace {

TEST(InputTimeSpeculator, MasksAreLosslessAndSavePasses) {
  const FakeLanguageModel plain({.next = next_of}), masked(with_masks(4));
  GreedyVerifier verifier;
  for (const SpeculationConfig& speculation :
       {SpeculationConfig{}, SpeculationConfig{.num_candidates = 4, .num_branches = 2}}) {
    std::vector<int64_t> passes;
    for (const FakeLanguageModel* model : {&plain, &masked}) {
      Engine engine = borrowing_engine(*model);
      const auto generator = make_generator({}, engine);
      const Campaign campaign = run_campaign(engine, plain, verifier, *generator, 200, speculation);
      EXPECT_EQ(campaign.wrong, 0);
      passes.push_back(engine.num_forward_passes());
    }
    EXPECT_LT(passes[1], passes[0] * 3 / 4);
  }
}

TEST(InputTimeSpeculator, MasksBesideADraftGuessWhatFollowsIt) {
  const FakeLanguageModel model(with_masks(1000));
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  const auto generator = make_generator({}, engine);
  const auto passes = [&](const SpeculationConfig& speculation) {
    InputTimeSpeculator speculator(engine, verifier, *generator, 256, speculation);
    GenerationConfig config = kConfig;
    config.stop_tokens = {};
    config.max_new_tokens = 5;
    speculator.update(with_header({1, 2}), "", config, {});
    return speculator.update(with_header({1, 2, 9}), "", config, {}).num_forward_passes;
  };
  EXPECT_EQ(passes({}), 2);                   // a token of the draft's pass, four of the next
  EXPECT_EQ(passes({.other_tokens = 2}), 3);  // no room beside the draft
}

TEST(InputTimeSpeculator, GreedyIsLosslessWhateverWasHeardBefore) {
  for (const std::string& decoder : generator_names()) {
    const FakeLanguageModel model({.surprise = 5});
    GreedyVerifier verifier;
    Engine engine = borrowing_engine(model);
    const auto generator = make_generator({.name = decoder, .block_size = 6}, engine);
    const Campaign campaign = run_campaign(engine, model, verifier, *generator, 300);
    EXPECT_EQ(campaign.wrong, 0) << decoder;
    EXPECT_GT(campaign.accepted, 300) << decoder;
    EXPECT_GT(campaign.partly, 30) << decoder;
    EXPECT_GT(campaign.cancelled, 100) << decoder;
    EXPECT_GT(campaign.reused, 300) << decoder;
    EXPECT_GT(campaign.drafted, campaign.accepted) << decoder;
  }
}

// As on a CPU: a token costs half as much as a pass over one.
const PassCosts kDear = PassCosts::given(Seconds(1), Seconds(1));

SpeculationConfig in_parts(SpeculationConfig config = {}) {
  config.in_parts = true;
  config.costs = kDear;
  return config;
}

TEST(InputTimeSpeculator, PartsOfADraftAreLosslessAndRunFewerTokens) {
  const FakeLanguageModel plain({.surprise = 5}), masked(with_masks(4)),
      unmasked({.next = next_of});
  GreedyVerifier verifier;
  const auto check = [&](const FakeLanguageModel& model, const FakeLanguageModel& honest,
                         const std::vector<std::string>& sources,
                         const SpeculationConfig& speculation) {
    std::vector<int64_t> tokens;
    for (const SpeculationConfig& config : {speculation, in_parts(speculation)}) {
      Engine engine = borrowing_engine(model);
      int64_t num_tokens = 0;
      engine.observe_passes([&](const PassSize& pass) { num_tokens += pass.num_tokens; });
      const auto generator = make_generator({.sources = sources, .costs = kDear}, engine);
      const Campaign campaign = run_campaign(engine, honest, verifier, *generator, 300, config);
      EXPECT_EQ(campaign.wrong, 0);
      EXPECT_GT(campaign.accepted, 200);
      EXPECT_TRUE(campaign.partly > 30 || &model == &masked);  // those of next_of() are right
      EXPECT_GT(campaign.cancelled, 100);
      tokens.push_back(num_tokens);
    }
    EXPECT_LT(tokens[1], tokens[0]) << sources.size() << " " << speculation.num_candidates;
  };
  check(plain, plain, {}, {});
  check(plain, plain, {"ngram"}, {});
  check(plain, plain, {"ngram"}, {.num_candidates = 4, .num_branches = 2});
  check(masked, unmasked, {}, {});
}

TEST(InputTimeSpeculator, OtherCandidatesAndSourcesAreLosslessToo) {
  // Seldom of use: the sources behind it are asked, too.
  const auto past = std::make_shared<AnswerStore>(std::vector<TokenIds>{{1, 2, 3, 4}, {9, 8, 7}});
  for (const char* decoder : {"ar", "jacobi"}) {
    const FakeLanguageModel model({.surprise = 5}), smaller({.surprise = 0});
    GreedyVerifier verifier;
    Engine engine = borrowing_engine(model), draft = borrowing_engine(smaller);
    const auto generator = make_generator({.name = decoder,
                                           .block_size = 6,
                                           .sources = draft_source_names(),
                                           .costs = with_draft_cost(0.1),
                                           .draft_model = &draft,
                                           .past_answers = past},
                                          engine);
    for (const SpeculationConfig& speculation :
         {SpeculationConfig{.num_candidates = 2},
          SpeculationConfig{.num_candidates = 6, .tree_tokens = 40, .num_branches = 3},
          SpeculationConfig{.num_candidates = 20, .tree_tokens = 1000, .num_branches = 1}}) {
      const Campaign campaign = run_campaign(engine, model, verifier, *generator, 200, speculation);
      EXPECT_EQ(campaign.wrong, 0) << decoder << speculation.num_candidates;
      EXPECT_GT(campaign.from_others, 5) << decoder << speculation.num_candidates;
      EXPECT_EQ(campaign.branched > 100, speculation.num_branches > 0);
    }
    EXPECT_GT(draft.num_forward_passes(), 1000) << decoder;
  }
}

/// A state cannot be taken back: what a rejection or a revision leaves runs again.
TEST(InputTimeSpeculator, AStateIsLosslessWhateverIsTakenBack) {
  FakeLanguageModel::Options masks = with_masks(4);
  masks.keeps_state = true;
  const FakeLanguageModel model({.surprise = 5, .keeps_state = true}), masked(masks),
      unmasked({.next = next_of}), smaller({.surprise = 0, .keeps_state = true});
  GreedyVerifier verifier;
  for (const std::string& decoder : generator_names()) {
    for (const SpeculationConfig& speculation :
         {SpeculationConfig{},
          SpeculationConfig{.num_candidates = 6, .tree_tokens = 40, .num_branches = 3},
          in_parts()}) {
      Engine engine = borrowing_engine(model), draft = borrowing_engine(smaller);
      const auto generator = make_generator({.name = decoder,
                                             .block_size = 6,
                                             .sources = {"ngram", "model"},
                                             .costs = with_draft_cost(0.1),
                                             .draft_model = &draft},
                                            engine);
      const Campaign campaign = run_campaign(engine, model, verifier, *generator, 40, speculation);
      EXPECT_EQ(campaign.wrong, 0) << decoder;
      EXPECT_GT(campaign.accepted, 20) << decoder;
      EXPECT_GT(campaign.reused, 20) << decoder << ": snapshots are found again";
    }
  }
  for (const SpeculationConfig& speculation :
       {SpeculationConfig{}, SpeculationConfig{.num_candidates = 4, .num_branches = 2}}) {
    Engine engine = borrowing_engine(masked);
    const auto generator = make_generator({}, engine);
    EXPECT_EQ(run_campaign(engine, unmasked, verifier, *generator, 40, speculation).wrong, 0);
  }
}

// ---- planted faults: the campaign must notice each.

class TooKindVerifier : public GreedyVerifier {
 public:
  int64_t verify(const Draft& draft, const DraftLogits& logits) override {
    const auto size = static_cast<int64_t>(draft.tokens.size());
    return std::min(size, GreedyVerifier::verify(draft, logits) + 1);
  }
};

class BlindVerifier : public GreedyVerifier {  // keeps a stale draft
 public:
  int64_t verify(const Draft& draft, const DraftLogits&) override {
    return static_cast<int64_t>(draft.tokens.size());
  }
};

class ShyVerifier : public GreedyVerifier {  // the bonus token comes from a row too early: slow
 public:
  int64_t verify(const Draft&, const DraftLogits&) override { return 0; }
};

class FaultyModel : public LanguageModel {
 public:
  enum class Fault { kCacheOffByOne, kWrongRow, kStaleCache };
  FaultyModel(const LanguageModel& model, Fault fault) : model_(model), fault_(fault) {}
  int64_t vocab_size() const override { return model_.vocab_size(); }
  int64_t max_positions() const override { return model_.max_positions(); }
  TokenSpan mask_tokens() const override { return {}; }
  bool gives_hidden() const override { return false; }
  KvLayout kv_layout() const override { return model_.kv_layout(); }
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    SequenceStep changed = steps.front();
    TokenIds tokens = to_ids(changed.tokens);
    const bool is_wide = changed.state->length() > 4 && tokens.size() > 1;
    if (fault_ == Fault::kCacheOffByOne && is_wide) {
      changed.state->return_to(changed.state->length() - 1);
    }
    if (fault_ == Fault::kStaleCache && is_wide) tokens[0] = 7;  // what an old prompt left there
    changed.tokens = tokens;
    const at::Tensor logits_NV = model_.forward({&changed, 1});
    return fault_ == Fault::kWrongRow && logits_NV.size(0) > 1 ? logits_NV.roll(1, 0) : logits_NV;
  }

 private:
  const LanguageModel& model_;
  Fault fault_;
};

TEST(InputTimeSpeculator, TheCampaignNoticesPlantedFaults) {
  const FakeLanguageModel model({.surprise = 2});
  Engine engine = borrowing_engine(model);
  AutoregressiveGenerator generator(engine);
  GreedyVerifier greedy;
  TooKindVerifier too_kind;
  BlindVerifier blind;
  ShyVerifier shy;
  EXPECT_GT(run_campaign(engine, model, too_kind, generator, 40).wrong, 0);
  EXPECT_GT(run_campaign(engine, model, blind, generator, 40).wrong, 0);
  EXPECT_EQ(run_campaign(engine, model, shy, generator, 40).wrong, 0);
  for (const auto fault : {FaultyModel::Fault::kCacheOffByOne, FaultyModel::Fault::kWrongRow,
                           FaultyModel::Fault::kStaleCache}) {
    const FaultyModel faulty(model, fault);
    Engine faulty_engine = borrowing_engine(faulty);
    AutoregressiveGenerator faulty_generator(faulty_engine);
    EXPECT_GT(run_campaign(faulty_engine, model, greedy, faulty_generator, 40).wrong, 0)
        << static_cast<int>(fault);
  }
}

// ---- costs and states, one by one.

struct Bench {
  explicit Bench(FakeLanguageModel::Options options = {}, const std::string& decoder = "ar",
                 const SpeculationConfig& speculation = {})
      : model(std::move(options)),
        generator(make_generator({.name = decoder, .block_size = 8}, engine)),
        speculator(engine, verifier, *generator, 256, speculation) {}
  SpeculationStep update(const TokenIds& prompt, int64_t max_new_tokens) {
    return speculator.update(prompt, "", {.max_new_tokens = max_new_tokens, .stop_tokens = {3}},
                             {});
  }
  FakeLanguageModel model;
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  std::unique_ptr<Generator> generator;
  InputTimeSpeculator speculator;
};

// Answers 10, 11, 12, .. to whatever was asked, up to 20 and then the stop token.
FakeLanguageModel::Options counting() {
  return {.next = [](TokenSpan history) -> TokenId {
    if (history.back() == 30) return 10;
    return history.back() == 20 ? 3 : history.back() + 1;
  }};
}

TEST(InputTimeSpeculator, VerifiesPromptTailAndDraftInOnePass) {
  Bench bench(counting());
  bench.update(with_header({1, 2}), 4);
  EXPECT_EQ(bench.model.pass_sizes, (std::vector<int64_t>{5, 1, 1, 1}));
  bench.model.pass_sizes.clear();
  const SpeculationStep step = bench.update(with_header({1, 2, 4}), 5);
  // The tail 4 28 29 30 and the draft 10 11 12 13; the fifth token is the same pass's bonus.
  EXPECT_EQ(bench.model.pass_sizes, (std::vector<int64_t>{8}));
  EXPECT_EQ(step.num_reused, 2);
  EXPECT_EQ(step.num_drafted, 4);
  EXPECT_EQ(step.num_accepted, 4);
  EXPECT_EQ(step.num_forward_passes, 1);
  EXPECT_EQ(to_ids(bench.speculator.answer()), (TokenIds{10, 11, 12, 13, 14}));
}

TEST(InputTimeSpeculator, VerifiesInPartsWhatIsDear) {
  Bench bench(counting(), "ar", in_parts());
  bench.update(with_header({1, 2}), 8);
  bench.model.pass_sizes.clear();
  std::vector<TokenIds> told;
  const SpeculationStep right = bench.speculator.update(
      with_header({1, 2, 4}), "", {.max_new_tokens = 8, .stop_tokens = {3}}, [&](TokenSpan tokens) {
        told.push_back(to_ids(tokens));
        EXPECT_EQ(bench.speculator.is_verifying(), bench.speculator.answer().size() < 8);
        return true;
      });
  EXPECT_EQ(right.num_drafted, 8);
  EXPECT_EQ(right.num_agreed, 8);
  EXPECT_EQ(right.num_accepted, 8);
  EXPECT_EQ(right.num_forward_passes, std::ssize(bench.model.pass_sizes));
  EXPECT_EQ(bench.model.pass_sizes.size(), told.size());  // each part is told as it is verified
  EXPECT_GT(told.size(), 1u);
  EXPECT_LE(
      std::accumulate(bench.model.pass_sizes.begin(), bench.model.pass_sizes.end(), int64_t{0}),
      4 + 8);  // the tail and the draft; what one part predicts is not run as a draft again
  EXPECT_EQ(to_ids(bench.speculator.answer()), (TokenIds{10, 11, 12, 13, 14, 15, 16, 17}));
  // All of it is wrong now: the first part is all that is run of it.
  bench.model.pass_sizes.clear();
  const SpeculationStep wrong = bench.update({1, 2, 4, 15}, 8);
  EXPECT_EQ(wrong.num_drafted, 8);
  EXPECT_EQ(wrong.num_accepted, 0);
  EXPECT_LT(bench.model.pass_sizes.front(), 1 + 8);
  EXPECT_THAT(std::vector(bench.model.pass_sizes.begin() + 1, bench.model.pass_sizes.end()),
              testing::Each(1));
}

TEST(InputTimeSpeculator, AStopBetweenTwoPartsLosesNothing) {
  for (const bool by_callback : {false, true}) {
    Bench bench(counting(), "ar", in_parts());
    bench.update(with_header({1, 2}), 8);
    GenerationConfig config{.max_new_tokens = 8, .stop_tokens = {3}};
    config.should_stop = [&] { return !by_callback; };
    const SpeculationStep step = bench.speculator.update(with_header({1, 2, 4}), "", config,
                                                         [&](TokenSpan) { return !by_callback; });
    EXPECT_EQ(step.generation.stop_reason, StopReason::kCancelled);
    EXPECT_EQ(step.num_accepted, std::ssize(bench.speculator.answer()));
    EXPECT_TRUE(bench.speculator.is_verifying());
    bench.model.pass_sizes.clear();
    EXPECT_EQ(bench.update(with_header({1, 2, 4}), 8).num_accepted, 8);  // it goes on
    EXPECT_LT(bench.model.pass_sizes.front(), 4);                        // without the prompt
    // Other words get all of it.
    bench.speculator.update(with_header({1, 2, 4, 5}), "", config,
                            [&](TokenSpan) { return !by_callback; });
    EXPECT_EQ(bench.update(with_header({1, 2, 4, 5, 6}), 8).num_accepted, 8);
  }
}

TEST(InputTimeSpeculator, AFailureBetweenTwoPartsLosesNothing) {
  Bench bench(counting(), "ar", in_parts());
  bench.update(with_header({1, 2}), 8);
  GenerationConfig config{.max_new_tokens = 8, .stop_tokens = {3}};
  config.should_stop = []() -> bool { throw Error(std::string("broken")); };
  EXPECT_THROW(bench.speculator.update(with_header({1, 2, 4}), "", config, {}), Error);
  EXPECT_EQ(bench.update(with_header({1, 2, 4}), 8).num_accepted, 8);
}

TEST(InputTimeSpeculator, AShorterAnswerEndsWithinAPart) {
  Bench bench(counting(), "ar", in_parts());
  bench.update(with_header({1, 2}), 8);
  for (const int64_t length : {1, 2, 3, 5}) {
    bench.update(with_header({1, 2, length}), 8);
    EXPECT_EQ(bench.update(with_header({1, 2, length, 4}), length).num_accepted, length);
    EXPECT_EQ(std::ssize(bench.speculator.answer()), length);
  }
}

TEST(InputTimeSpeculator, AVerifierThatAcceptsOtherTokensGetsTheWholeDraft) {
  Bench bench(counting(), "ar", in_parts());
  TopKVerifier top_k(3);
  bench.speculator.use(top_k, *bench.generator);
  bench.update(with_header({1, 2}), 8);
  bench.model.pass_sizes.clear();
  bench.update(with_header({1, 2, 4}), 8);
  EXPECT_EQ(bench.model.pass_sizes, (std::vector<int64_t>{4 + 8}));
}

TEST(InputTimeSpeculator, TellsWhatIsExpectedWithinThePrompt) {
  Bench bench(counting());
  std::vector<TokenId> told;
  const auto update = [&](const TokenIds& words) {
    const TokenIds prompt = with_header(words);
    const PromptReader reader{.num_tokens = std::ssize(words),
                              .read = [&](const at::Tensor& logits_V) {
                                told.push_back(logits_V.argmax().item<int64_t>());
                              }};
    return bench.speculator.update(
        prompt, "", kConfig, [](TokenSpan) { return false; }, {}, reader);
  };
  update({1, 2});
  EXPECT_EQ(told, (std::vector<TokenId>{3}));
  update({1, 2});  // no pass, so nothing new
  EXPECT_EQ(told.size(), 1u);
  update({1, 2, 7});
  EXPECT_EQ(told, (std::vector<TokenId>{3, 8}));
  update({1, 2});  // its last word was run for longer words: only the header is
  EXPECT_EQ(told.size(), 2u);
}

TEST(InputTimeSpeculator, UnchangedPromptCostsNoPass) {
  Bench bench(counting());
  const TokenIds prompt = with_header({1, 2});
  bench.update(prompt, 4);
  bench.model.pass_sizes.clear();
  const SpeculationStep step = bench.update(prompt, 4);
  EXPECT_EQ(step.num_forward_passes, 0);
  EXPECT_EQ(to_ids(bench.speculator.answer()), (TokenIds{10, 11, 12, 13}));
  bench.update(prompt, 6);  // goes on where it was
  EXPECT_EQ(bench.model.pass_sizes, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(to_ids(bench.speculator.answer()), (TokenIds{10, 11, 12, 13, 14, 15}));
}

TEST(InputTimeSpeculator, EndedAnswerStaysEndedIfAcceptedWhole) {
  Bench bench(counting());
  bench.update(with_header({1, 2}), 40);
  ASSERT_EQ(bench.speculator.answer().back(), 3);
  const TokenIds whole = to_ids(bench.speculator.answer());
  bench.model.pass_sizes.clear();
  const SpeculationStep step = bench.update(with_header({1, 2, 5}), 40);
  EXPECT_EQ(step.num_accepted, static_cast<int64_t>(whole.size()));
  EXPECT_EQ(step.generation.stop_reason, StopReason::kStopToken);
  EXPECT_EQ(to_ids(bench.speculator.answer()), whole);
  EXPECT_EQ(bench.model.pass_sizes.size(), 1u);
  EXPECT_EQ(bench.update(with_header({1, 2, 5}), 40).num_forward_passes, 0);
}

TEST(InputTimeSpeculator, JacobiGoesOnFromTheRejectedRows) {
  // The prompt's first id is the answer's first token; after it the answer is always the same.
  FakeLanguageModel::Options options{.next = [](TokenSpan history) -> TokenId {
    const auto header_end = std::ranges::find(history, 30);
    const auto place = history.end() - header_end - 1;
    return place == 0 ? history.front() : 10 + place;
  }};
  Bench bench(options, "jacobi");
  bench.update(with_header({4}), 12);
  bench.model.pass_sizes.clear();
  bench.update(with_header({5}), 12);
  EXPECT_EQ(to_ids(bench.speculator.answer()),
            (TokenIds{5, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}));
  // 5 comes from the verify pass, then 8 and 3 tokens of the rows after it, all right.
  EXPECT_EQ(bench.model.pass_sizes.size(), 3u);
}

TEST(InputTimeSpeculator, TwoAnswersTakeTurns) {
  const FakeLanguageModel model({.next = next_of});
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  AutoregressiveGenerator generator(engine);
  InputTimeSpeculator speculator(engine, verifier, generator, 256);
  const TokenIds first = with_header({1, 2}), second = with_header({1, 2, 9});
  speculator.update(first, "", kConfig, {});
  const TokenIds answer = to_ids(speculator.answer());
  SetAside other = speculator.exchange({}, second);
  EXPECT_EQ(other.answer, answer);
  EXPECT_FALSE(speculator.has_draft());
  speculator.update(second, "", kConfig, {});
  const TokenIds second_answer = to_ids(speculator.answer());
  EXPECT_EQ(second_answer, plain_answer(model, second, kConfig));
  // Verified against the same prompt, it takes no pass.
  other = speculator.exchange(std::move(other), first);
  EXPECT_EQ(other.answer, second_answer);
  TokenIds told;
  const SpeculationStep same = speculator.update(first, "", kConfig, [&](TokenSpan tokens) {
    told.insert(told.end(), tokens.begin(), tokens.end());
    return true;
  });
  EXPECT_EQ(same.num_forward_passes, 0);
  EXPECT_EQ(told, answer);
  // Against another one it is a draft.
  const TokenIds third = with_header({1, 2, 3});
  speculator.exchange(std::move(other), third);
  EXPECT_TRUE(speculator.has_draft());
  const SpeculationStep step = speculator.update(third, "", kConfig, {});
  EXPECT_EQ(step.num_drafted, std::ssize(second_answer));
  EXPECT_EQ(to_ids(speculator.answer()), plain_answer(model, third, kConfig));
}

TEST(InputTimeSpeculator, PrefillCachesWithoutAnswering) {
  Bench bench(counting());
  const TokenIds prompt = with_header({1, 2});
  EXPECT_EQ(bench.speculator.prefill(prompt), 1);
  EXPECT_TRUE(bench.speculator.answer().empty());
  EXPECT_EQ(bench.speculator.prefill(prompt), 0);
  EXPECT_EQ(bench.update(prompt, 1).num_forward_passes, 0);  // the saved logits
  EXPECT_EQ(to_ids(bench.speculator.answer()), (TokenIds{10}));
}

TEST(InputTimeSpeculator, NextTurnFindsTheAnswerInTheCache) {
  Bench bench(counting());
  const TokenIds prompt = with_header({1, 2});
  bench.update(prompt, 40);
  TokenIds next = prompt;
  const TokenIds answer = to_ids(bench.speculator.answer());
  next.insert(next.end(), answer.begin(), answer.end());
  bench.speculator.reset_answer();
  EXPECT_TRUE(bench.speculator.answer().empty());
  const TokenIds second = with_header([&] {
    TokenIds ids = next;
    ids.push_back(9);
    return ids;
  }());
  const SpeculationStep step = bench.update(second, 2);
  EXPECT_EQ(step.num_drafted, 0);
  EXPECT_EQ(step.num_reused, static_cast<int64_t>(next.size()) - 1);  // all but the pending stop
}

TEST(InputTimeSpeculator, FailedPassLeavesTheDraft) {
  Bench bench(counting());
  bench.update(with_header({1, 2}), 4);
  class Broken : public GreedyVerifier {
   public:
    int64_t verify(const Draft&, const DraftLogits&) override {
      throw Error(std::string("broken"));
    }
  } broken;
  InputTimeSpeculator speculator(bench.engine, broken, *bench.generator, 256);
  speculator.update(with_header({1, 2}), "", kConfig, {});  // no draft yet: nothing to verify
  const TokenIds draft = to_ids(speculator.answer());
  EXPECT_THROW(speculator.update(with_header({5}), "", kConfig, {}), Error);
  EXPECT_EQ(to_ids(speculator.answer()), draft);
  EXPECT_THROW(speculator.update(with_header({5}), "", kConfig, {}), Error);  // still unverified
  speculator.reset_answer();
  speculator.update(with_header({5}), "", kConfig, {});
  EXPECT_EQ(to_ids(speculator.answer()), plain_answer(bench.model, with_header({5}), kConfig));
}

TEST(InputTimeSpeculator, FitsTheContextOrSaysSo) {
  for (const SpeculationConfig& speculation : {SpeculationConfig(), in_parts()}) {
    Bench bench({.max_positions = 10}, "ar", speculation);
    expect_user_error([&] { bench.update(TokenIds(11, 1), 4); }, {"11", "10"});
    for (int64_t length : {4, 7, 10, 9}) {  // the draft grows beyond the room that is left
      const TokenIds prompt(static_cast<size_t>(length), 1);
      bench.update(prompt, 40);
      EXPECT_EQ(to_ids(bench.speculator.answer()),
                plain_answer(bench.model, prompt, {.max_new_tokens = 40, .stop_tokens = {3}}, 10))
          << length;
    }
  }
}

TEST(InputTimeSpeculator, TopKKeepsTextTokensAndCacheTogether) {
  // Whatever top-k lets through, the rest must follow from exactly these tokens.
  int64_t relaxed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const FakeLanguageModel model({.vocab_size = 31, .surprise = 2});
    Engine engine = borrowing_engine(model);
    AutoregressiveGenerator generator(engine);
    TopKVerifier verifier(3);
    InputTimeSpeculator speculator(engine, verifier, generator, 256);
    Random random(seed, "words");
    TokenIds words;
    SpeculationStep step;
    for (int i = 0; i < 5; ++i) {
      words.push_back(static_cast<TokenId>(random.below(28)));
      step = speculator.update(with_header(words), "", {.max_new_tokens = 12, .stop_tokens = {3}},
                               {}, {.first_sentence = 4});
    }
    const TokenIds prompt = with_header(words);
    const TokenIds answer = to_ids(speculator.answer());
    TokenIds forced = prompt;
    const auto kept = static_cast<size_t>(step.num_accepted);
    forced.insert(forced.end(), answer.begin(), answer.begin() + static_cast<int64_t>(kept));
    if (kept < answer.size()) {
      const TokenIds rest = plain_answer(
          model, forced, {.max_new_tokens = 12 - static_cast<int64_t>(kept), .stop_tokens = {3}});
      EXPECT_EQ(TokenIds(answer.begin() + static_cast<int64_t>(kept), answer.end()), rest) << seed;
    }
    const TokenIds plain = plain_answer(model, prompt, {.max_new_tokens = 12, .stop_tokens = {3}});
    relaxed += answer != plain;
  }
  EXPECT_GT(relaxed, 5);  // otherwise this test shows nothing
}

TEST(SpeculationConfig, BranchesNeedCandidates) {
  expect_user_error([] { SpeculationConfig{.num_branches = 5}.validate(); },
                    {"branches", "candidates", "more than 1"});
}

}  // namespace
}  // namespace predgen
