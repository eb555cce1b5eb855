#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/generate/make_generator.h"
#include "runtime/speculate/branches.h"
#include "runtime/speculate/verifier.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/pass_table.h"
#include "tests/fakes/speculation_campaign.h"

// Input-time speculation within a language: the campaigns of input_time_speculator_test.cpp.
namespace predgen {
namespace {

const std::shared_ptr<const TokenLanguage>& language() {
  static const std::shared_ptr<const TokenLanguage> one = forms();
  return one;
}

bool is_within(TokenSpan answer) {
  return answers_in(language(), kConfig.stop_tokens)->after(answer) != nullptr;
}

TEST(ConstrainedAnswers, AreThoseOfPlainDecodingWhateverWasHeardBefore) {
  for (const std::string& decoder : generator_names()) {
    const FakeLanguageModel model({.surprise = 5});
    GreedyVerifier verifier;
    Engine engine = borrowing_engine(model);
    const auto generator = make_generator({.name = decoder, .block_size = 6}, engine);
    const Campaign campaign =
        run_campaign(engine, model, verifier, *generator, 300, {}, language());
    EXPECT_EQ(campaign.wrong, 0) << decoder;
    EXPECT_GT(campaign.accepted, 300) << decoder;
    EXPECT_GT(campaign.partly, 30) << decoder;
    EXPECT_GT(campaign.cancelled, 100) << decoder;
    EXPECT_GT(campaign.drafted, campaign.accepted) << decoder;
  }
}

TEST(ConstrainedAnswers, InPartsWithMasksCandidatesAndSourcesToo) {
  const PassCosts dear = PassCosts::given(Seconds(1), Seconds(1));
  const auto past = std::make_shared<AnswerStore>(
      std::vector<TokenIds>{{13, 14, 15, 16, 26, 6, 11, 20, 25}, {9, 8, 7}});
  const FakeLanguageModel plain({.surprise = 5}), smaller({.surprise = 0}),
      says_next({.next = next_of}), masked(with_masks(4));
  GreedyVerifier verifier;
  const auto check = [&](const FakeLanguageModel& model, const FakeLanguageModel& honest,
                         GeneratorConfig how, const SpeculationConfig& speculation) {
    Engine engine = borrowing_engine(model), draft = borrowing_engine(smaller);
    how.draft_model = &draft;
    how.past_answers = past;
    const auto generator = make_generator(how, engine);
    const Campaign campaign =
        run_campaign(engine, honest, verifier, *generator, 150, speculation, language());
    EXPECT_EQ(campaign.wrong, 0) << how.name << " " << speculation.num_candidates;
    EXPECT_EQ(campaign.branched > 100, speculation.num_branches > 0);
    EXPECT_GT(campaign.accepted, 150);
  };
  const SpeculationConfig tree{.num_candidates = 6, .tree_tokens = 40, .num_branches = 3};
  const SpeculationConfig parts{.in_parts = true, .costs = dear};
  check(plain, plain, {.sources = {"ngram"}, .costs = dear}, parts);
  check(plain, plain, {}, tree);
  for (const char* decoder : {"ar", "jacobi"}) {
    check(plain, plain,
          {.name = decoder,
           .block_size = 6,
           .sources = draft_source_names(),
           .costs = with_draft_cost(0.1)},
          tree);
  }
  check(masked, says_next, {}, {});
  check(masked, says_next, {.sources = {"ngram"}}, tree);
  check(masked, says_next, {.costs = dear}, parts);
}

/// A pass for the prompt runs what is forced at the beginning of an answer.
TEST(ConstrainedAnswers, ForcedTokensTakeNoPassOfTheirOwn) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  const auto generator = make_generator({}, engine);
  InputTimeSpeculator speculator(engine, verifier, *generator, 256);
  GenerationConfig config = kConfig;
  config.constraint = answers_in(language(), config.stop_tokens);
  config.max_new_tokens = 5;
  const TokenIds prompt = with_header({1, 2});
  const SpeculationStep step = speculator.update(prompt, "", config, {});
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{std::ssize(prompt) + 5}));
  EXPECT_EQ(std::ssize(speculator.answer()), 5);
  EXPECT_EQ(step.num_accepted, 0);  // they were no draft
  EXPECT_EQ(step.num_drafted, 0);
  // A round of few tokens stays one.
  InputTimeSpeculator slow(engine, verifier, *generator, 256);
  slow.update(prompt, "", config, {}, {.max_added = 2});
  EXPECT_EQ(std::ssize(slow.answer()), 2);
}

TEST(ConstrainedAnswers, ADraftOutsideIsRejectedBeforeThePass) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  const auto generator = make_generator({}, engine);
  InputTimeSpeculator speculator(engine, verifier, *generator, 256);
  GenerationConfig config = kConfig;
  config.stop_tokens = {};
  config.max_new_tokens = 12;
  speculator.update(with_header({1, 2}), "", config, {});  // anything
  config.stop_tokens = {3};
  config.constraint = answers_in(language(), config.stop_tokens);
  model.pass_sizes.clear();
  const TokenIds prompt = with_header({1, 2, 9});
  const SpeculationStep step = speculator.update(prompt, "", config, {});
  EXPECT_EQ(model.pass_sizes.front(), 1 + std::ssize(kHeader) + 5);  // what is forced
  EXPECT_EQ(step.num_drafted, 12);
  EXPECT_EQ(step.num_accepted, 0);
  EXPECT_EQ(to_ids(speculator.answer()), answer_within(*language(), model, prompt, config));
}

TEST(ConstrainedAnswers, TopKAcceptsWhatIsAmongTheLikeliestOfTheAllowed) {
  int64_t relaxed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const FakeLanguageModel model({.surprise = 2});
    Engine engine = borrowing_engine(model);
    const auto generator = make_generator({}, engine);
    TopKVerifier verifier(3);
    InputTimeSpeculator speculator(engine, verifier, *generator, 256);
    Random random(seed, "words");
    GenerationConfig config = kConfig;
    config.max_new_tokens = 16;
    config.constraint = answers_in(language(), config.stop_tokens);
    TokenIds words;
    SpeculationStep step;
    for (int i = 0; i < 4; ++i) {
      words.push_back(static_cast<TokenId>(random.below(28)));
      step = speculator.update(with_header(words), "", config, {}, {.first_sentence = 10});
    }
    const TokenIds prompt = with_header(words), answer = to_ids(speculator.answer());
    ASSERT_TRUE(is_within(answer)) << seed;
    const TokenIds plain = answer_within(*language(), model, prompt, config);
    relaxed += answer != plain;
    // Where it keeps another token than plain decoding, that is one of the three likeliest allowed.
    const auto differs = std::ranges::mismatch(answer, plain).in1 - answer.begin();
    if (answer == plain) continue;
    ASSERT_LT(differs, 10) << seed;
    Sequence sequence = sequence_of(engine, prompt, 256);
    sequence.append(TokenSpan(answer).first(static_cast<size_t>(differs)));
    const auto place = answers_in(language(), config.stop_tokens)
                           ->after(TokenSpan(answer).first(static_cast<size_t>(differs)));
    const at::Tensor logits_V =
        allowed_logits(*engine.run({.sequence = &sequence}).logits, {&place, 1})[0];
    const at::Tensor own = logits_V[answer[static_cast<size_t>(differs)]];
    EXPECT_LT((logits_V > own).sum().item<int64_t>(), 3) << seed;
  }
  EXPECT_GT(relaxed, 5);  // otherwise this test shows nothing
}

TEST(ConstrainedAnswers, BranchesStayWithin) {
  const FakeLanguageModel model({.surprise = 1});
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  const auto generator = make_generator({}, engine);
  InputTimeSpeculator speculator(engine, verifier, *generator, 256);
  GenerationConfig config = kConfig;
  config.max_new_tokens = 12;
  config.constraint = answers_in(language(), config.stop_tokens);
  const TokenIds prompt = with_header({1, 2});
  speculator.update(prompt, "", config, {});
  Sequence answered = sequence_of(engine, prompt, 256);
  answered.append(speculator.answer());
  config.answer_begin = std::ssize(prompt);
  Branches branches(4);
  branches.grow(engine, answered, config, [] { return [](TokenSpan) { return false; }; });
  EXPECT_GT(branches.answers().size(), 1u);  // one for each place with a choice
  for (const TokenIds& answer : branches.answers()) {
    EXPECT_TRUE(is_within(answer));
    // None where one token is forced.
    EXPECT_GE(std::ranges::mismatch(answer, speculator.answer()).in1 - answer.begin(), 4);
  }
}

class ForgetfulVerifier : public GreedyVerifier {  // keeps a stale draft
 public:
  int64_t verify(const Draft& draft, const DraftLogits&) override {
    return static_cast<int64_t>(draft.tokens.size());
  }
};

TEST(ConstrainedAnswers, TheCampaignNoticesPlantedFaults) {
  const FakeLanguageModel model({.surprise = 2});
  Engine engine = borrowing_engine(model);
  const auto generator = make_generator({}, engine);
  ForgetfulVerifier forgetful;
  EXPECT_GT(run_campaign(engine, model, forgetful, *generator, 40, {}, language()).wrong, 0);
  const FakeLanguageModel other({.memory = 1});
  GreedyVerifier greedy;
  EXPECT_GT(run_campaign(engine, other, greedy, *generator, 40, {}, language()).wrong, 0);
}

/// Letters until the fourth, and no way on.
TEST(ConstrainedAnswers, ADeadEndLeavesWhatWasSaidBefore) {
  Automaton automaton;
  const size_t one = automaton.add_state(), two = automaton.add_state();
  for (const char* letter : {"a", "b"}) {
    automaton.add(0, letter, one);
    automaton.add(one, letter, two);
  }
  const auto narrow =
      std::make_shared<TokenLanguage>(automaton, std::vector<std::string>{"a", "b"});
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  GreedyVerifier verifier;
  const auto generator = make_generator({}, engine);
  InputTimeSpeculator speculator(engine, verifier, *generator, 256);
  GenerationConfig config{.max_new_tokens = 9, .stop_tokens = {3}};
  config.constraint = answers_in(narrow, config.stop_tokens);
  for (const TokenId last : {4, 5, 5, 6}) {
    TokenIds told;
    expect_user_error(
        [&] {
          speculator.update(with_header({1, last}), "", config, [&](TokenSpan tokens) {
            told.insert(told.end(), tokens.begin(), tokens.end());
            return true;
          });
        },
        {"the language of a test", "dead end", "2 tokens"});
    EXPECT_EQ(told, to_ids(speculator.answer()));
    EXPECT_EQ(told.size(), 2u);
  }
  // An answer that ends before it is one.
  config.max_new_tokens = 2;
  EXPECT_EQ(speculator.update(with_header({1, 7}), "", config, {}).generation.stop_reason,
            StopReason::kMaxNewTokens);
  const auto nothing = std::make_shared<TokenLanguage>(Automaton{}, std::vector<std::string>{"a"});
  config.constraint = answers_in(nothing, config.stop_tokens);
  for (const TokenId last : {8, 8, 9}) {
    speculator.prefill(with_header({1, last}), config);
    expect_user_error(
        [&] {
          speculator.update(with_header({1, last}), "", config, {});
        },
        {"dead end", "0 tokens"});
  }
}

}  // namespace
}  // namespace predgen
