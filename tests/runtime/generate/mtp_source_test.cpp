#include "runtime/generate/mtp_source.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/hybrid_models.h"
#include "tests/fakes/pass_table.h"
#include "tests/fakes/speculation_campaign.h"

namespace predgen {
namespace {

using Paths = std::optional<std::vector<TokenIds>>;

TokenId follower(TokenSpan history) { return (history.back() * 7 + 3) % 28; }

/// A model, and its layer, which says what the model would.
struct Drafter {
  explicit Drafter(DraftWidth width = DraftWidth(8)) : source(drafts, std::move(width)) {}

  /// After `tokens`, of which the model has read all but the last.
  Paths propose(const TokenIds& tokens, int64_t max_tokens, const GenerationConfig& config = {}) {
    sequence.replace(tokens);
    engine.run({.sequence = &sequence});
    return source.propose(tokens, {}, config, {TokenTree(), max_tokens, &sequence});
  }

  FakeLanguageModel model{{.next = follower, .gives_hidden = true}},
      layer{{.next = follower, .reads_hidden = true}};
  Engine engine = borrowing_engine(model), drafts = borrowing_engine(layer);
  Sequence sequence = engine.make_sequence(512);
  MtpSource source;
};

TokenIds followers(TokenId token, int64_t count) {
  TokenIds all;
  for (int64_t i = 0; i < count; ++i) all.push_back(token = follower(TokenSpan(&token, 1)));
  return all;
}

TEST(MtpSource, GoesOnFromTheModelsHiddenStatesAndThenItsOwn) {
  Drafter drafter;
  EXPECT_EQ(drafter.propose({1, 2, 5}, 4), Paths({followers(5, 4)}));
  EXPECT_EQ(drafter.layer.pass_sizes, (std::vector<int64_t>{2, 1, 1, 1}));
  // What was guessed with its own is read again.
  EXPECT_EQ(drafter.propose({1, 2, 5, 10, 9}, 2), Paths({followers(9, 2)}));
  EXPECT_EQ(drafter.layer.pass_sizes[4], 3);
  // Another first token changes all hidden states.
  EXPECT_EQ(drafter.propose({7, 2, 5, 10, 9}, 2), Paths({followers(9, 2)}));
  // Up to a stop token, and what the pass has already takes no room.
  EXPECT_EQ(drafter.propose({7, 2, 5, 10, 9, 4}, 4, {.stop_tokens = {followers(4, 2)[1]}}),
            Paths({followers(4, 2)}));
}

TEST(MtpSource, KnowsNothingBeforeTheModelHasRead) {
  Drafter drafter;
  const TokenIds tokens{1, 2, 5};
  Sequence sequence = drafter.engine.make_sequence(8);
  const auto propose = [&] {
    return drafter.source.propose(tokens, {}, {}, {TokenTree(), 4, &sequence});
  };
  EXPECT_TRUE(propose()->empty());
  sequence.append(TokenSpan(tokens).first(1));
  drafter.engine.run({.sequence = &sequence});
  EXPECT_TRUE(propose()->empty());
  EXPECT_TRUE(drafter.propose({1}, 4)->empty());
  EXPECT_TRUE(drafter.layer.pass_sizes.empty());
}

TEST(MtpSource, RestsWhereItDoesNotPay) {
  // Its pass costs as much as the model's.
  Drafter drafter(DraftWidth(8, {.costs = with_draft_cost(1), .is_by_model = true}));
  EXPECT_TRUE(drafter.propose({1, 2, 5}, 4)->empty());
  EXPECT_EQ(drafter.drafts.num_forward_passes(), 0);
}

TEST(MtpSource, EndsWhenAsked) {
  Drafter drafter;
  int asked = 0;
  GenerationConfig config;
  config.should_stop = [&] { return ++asked > 0; };
  drafter.propose({1, 2, 5}, 4);
  Engine narrow = borrowing_engine(drafter.layer, {.pass_tokens = 1});
  MtpSource source(narrow, DraftWidth(8));
  EXPECT_FALSE(source.propose(TokenIds{1, 2, 5}, {}, config, {TokenTree(), 4, &drafter.sequence}));
}

/// Whatever is revised, rejected, forked or run as a tree: the text is the model's, and no hidden
/// state that the layer reads is of another text.
TEST(MtpSource, IsLosslessAndInStepWithTheTextWhateverIsTakenBack) {
  GreedyVerifier verifier;
  for (const bool keeps_state : {false, true}) {
    const FakeLanguageModel plain({.memory = 1, .surprise = 4, .keeps_state = keeps_state}),
        model({.memory = 1, .surprise = 4, .keeps_state = keeps_state, .gives_hidden = true}),
        layer({.memory = 1, .surprise = 0, .reads_hidden = true});
    for (const std::string& decoder : generator_names()) {
      for (const SpeculationConfig& speculation :
           {SpeculationConfig{},
            SpeculationConfig{.num_candidates = 6, .tree_tokens = 40, .num_branches = 3},
            SpeculationConfig{.in_parts = true, .costs = pass_table({1, 1, 2, 3})}}) {
        for (const std::vector<std::string>& sources :
             {std::vector<std::string>{kOwnLayer}, std::vector<std::string>{"ngram", kOwnLayer}}) {
          Engine engine = borrowing_engine(model), drafts = borrowing_engine(layer);
          const auto generator = make_generator({.name = decoder,
                                                 .block_size = 6,
                                                 .sources = sources,
                                                 .costs = with_draft_cost(0.1),
                                                 .draft_model = &drafts},
                                                engine);
          const Campaign campaign =
              run_campaign(engine, plain, verifier, *generator, 8, speculation);
          EXPECT_EQ(campaign.wrong, 0) << decoder;
          EXPECT_GT(campaign.accepted, 3) << decoder;
          if (decoder == "ar") {  // jacobi's window goes on beyond what the model has read
            EXPECT_GT(drafts.num_forward_passes(), 20);
          }
        }
      }
    }
  }
}

TEST(MtpSource, SavesPasses) {
  const FakeLanguageModel plain({.memory = 1, .surprise = 4, .keeps_state = true}),
      model({.memory = 1, .surprise = 4, .keeps_state = true, .gives_hidden = true}),
      layer({.memory = 1, .surprise = 0, .reads_hidden = true});
  Engine engine = borrowing_engine(model), drafts = borrowing_engine(layer);
  const auto generator = make_generator(
      {.sources = {draft_source_of(drafts)}, .costs = with_draft_cost(0.1), .draft_model = &drafts},
      engine);
  const TokenIds prompt{4, 5, 6};
  Sequence sequence = sequence_of(engine, prompt, 512);
  const GenerationResult result =
      generator->generate(sequence, {}, {.max_new_tokens = 100, .answer_begin = 3}, {});
  EXPECT_EQ(to_ids(sequence.tokens().subspan(3)),
            plain_answer(plain, prompt, {.max_new_tokens = 100}));
  EXPECT_LT(result.num_forward_passes, 50);
  EXPECT_EQ(drafts.num_forward_passes(), std::ssize(layer.pass_sizes));
}

/// Small random models, by our kernels and in LibTorch's operators.
TEST(MtpSource, IsLosslessWithRealLayers) {
  ModelConfig config = delta_config();
  config.num_mtp_layers = 1;
  config.max_positions = 512;
  const auto layer = Transformer::initialize(*config.mtp(), 2, at::kFloat);
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  layer->share_tables(*model);
  model->set_mtp(std::shared_ptr<const Transformer>(std::shared_ptr<void>(), layer.get()));
  GreedyVerifier verifier;
  for (const bool kernels : {true, false}) {
    model->set_kernels(kernels);
    layer->set_kernels(kernels);
    Engine engine = borrowing_engine(*model), drafts = borrowing_engine(*layer);
    const auto generator = make_generator(
        {.sources = {"ngram", kOwnLayer}, .costs = with_draft_cost(0), .draft_model = &drafts},
        engine);
    const Campaign campaign =
        run_campaign(engine, *model, verifier, *generator, 3, {.num_candidates = 4});
    EXPECT_EQ(campaign.wrong, 0) << kernels;
    EXPECT_GT(drafts.num_forward_passes(), 20) << kernels;
  }
}

/// A model of the last token alone, and a layer that says the same of it: all guesses are right.
TEST(MtpSource, SavesPassesOfARealModel) {
  const at::NoGradGuard no_grad;
  ModelConfig config = delta_config();
  config.num_mtp_layers = 1;
  const auto layer = Transformer::initialize(*config.mtp(), 2, at::kFloat);
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  for (Transformer* each : {model.get(), layer.get()}) {
    for (Linear* linear : each->linears()) {
      const bool is_last = linear->name.ends_with("o_proj") ||
                           linear->name.ends_with("down_proj") ||
                           linear->name.ends_with("out_proj");
      if (is_last) linear->weight.zero_();
    }
  }
  layer->named_weights().at("mtp.fc.weight").copy_(at::eye(32, 64));
  layer->share_tables(*model);
  model->set_mtp(std::shared_ptr<const Transformer>(std::shared_ptr<void>(), layer.get()));
  Engine engine = borrowing_engine(*model), drafts = borrowing_engine(*layer);
  const TokenIds prompt{4, 5, 6};
  const GenerationConfig how{.max_new_tokens = 41, .answer_begin = 3};
  const TokenIds plain = plain_answer(*model, prompt, how);
  for (const double cost : {0.1, 5.0}) {
    Sequence sequence = sequence_of(engine, prompt, 128);
    const auto generator = make_generator({.sources = {kOwnLayer},
                                           .draft_width = 4,
                                           .costs = with_draft_cost(cost),
                                           .draft_model = &drafts},
                                          engine);
    const GenerationResult result = generator->generate(sequence, {}, how, {});
    EXPECT_EQ(to_ids(sequence.tokens().subspan(3)), plain);
    EXPECT_EQ(result.num_forward_passes, cost < 1 ? 1 + 8 : 41);  // 4 guesses and one of its own
  }
}

/// Seen by the check of the fake: rows of a text that was revised, and off by one.
TEST(MtpSource, HiddenStatesOfAnotherTextWouldBeSeen) {
  Drafter drafter;
  const auto propose_with_states_of = [&](const TokenIds& read) {
    Sequence sequence = drafter.engine.make_sequence(8);
    sequence.append(read);
    drafter.engine.run({.sequence = &sequence});
    Engine drafts = borrowing_engine(drafter.layer);
    MtpSource(drafts, DraftWidth(8))
        .propose(TokenIds{1, 9, 5, 6}, {}, {}, {TokenTree(), 4, &sequence});
  };
  propose_with_states_of({1, 9, 5, 6});
  EXPECT_THROW(propose_with_states_of({1, 2, 5, 6}), Error);
  EXPECT_THROW(propose_with_states_of({0, 1, 9, 5}), Error) << "one off";
}

}  // namespace
}  // namespace predgen
