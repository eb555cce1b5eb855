#include "runtime/generate/assistant_source.h"

#include <gtest/gtest.h>

#include "runtime/generate/drafting_generator.h"
#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/pass_table.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/speculation_campaign.h"

namespace predgen {
namespace {

constexpr int64_t kWindow = 5;

/// A layer that sees all, one with a window, and one that reads the second one's rows.
ModelConfig read_config() {
  ModelConfig config = small_config();
  config.layers.resize(3, config.layers.front());
  config.layers[1].attention.window = kWindow;
  config.layers[2].attention.window = kWindow;
  config.layers[2].attention.shares = 1;
  return config;
}

ModelConfig assistant_config(const ModelConfig& model) {
  ModelConfig config = model;
  config.hidden_size /= 2;
  config.layers = {model.layers[1], model.layers[0]};
  for (LayerSpec& layer : config.layers) layer.attention.shares = kOfAnotherModel;
  config.assistant = AssistantSpec{.hidden_size = model.hidden_size};
  return config;
}

struct Pair {
  Pair() { assistant->guess_for(*model, "the assistant"); }

  std::unique_ptr<Transformer> model = Transformer::initialize(read_config(), 1, at::kFloat);
  std::unique_ptr<Transformer> assistant =
      Transformer::initialize(assistant_config(read_config()), 2, at::kFloat);
};

/// What the source guesses on its way through a campaign, and of the same text read anew.
class ReadAnew : public DraftSource {
 public:
  ReadAnew(const Transformer& model, Engine& drafts)
      : reader_(borrowing_engine(model)), source_(drafts, DraftWidth(6)), drafts_(drafts) {}

  std::optional<std::vector<TokenIds>> propose(TokenSpan tokens, std::span<const TokenIds> drafts,
                                               const GenerationConfig& config,
                                               const DraftRoom& room) override {
    const auto found = source_.propose(tokens, drafts, config, room);
    if (!found || found->empty()) return found;
    Sequence anew = reader_.make_sequence(512);
    anew.append(tokens.first(tokens.size() - 1));
    reader_.run({.sequence = &anew});
    const auto expected = AssistantSource(drafts_, DraftWidth(6))
                              .propose(tokens, drafts, config, {room.tree, room.max_tokens, &anew});
    EXPECT_EQ(found, expected);
    ++num_compared;
    return found;
  }
  void prefill(TokenSpan /*tokens*/) override {}

  int64_t num_compared = 0;

 private:
  Engine reader_;
  AssistantSource source_;
  Engine& drafts_;
};

TEST(AssistantSource, ReadsWhatTheModelHasReadWhateverIsTakenBack) {
  GreedyVerifier verifier;
  for (const bool kernels : {true, false}) {
    Pair pair;
    pair.model->set_kernels(kernels);
    Engine engine = borrowing_engine(*pair.model), drafts = borrowing_engine(*pair.assistant);
    auto source = std::make_unique<ReadAnew>(*pair.model, drafts);
    const ReadAnew& reads = *source;
    std::vector<std::unique_ptr<DraftSource>> sources;
    sources.push_back(std::move(source));
    DraftingGenerator generator(engine, std::move(sources), DraftWidth(6), /*refines=*/false);
    const Campaign campaign =
        run_campaign(engine, *pair.model, verifier, generator, 4,
                     {.num_candidates = 4, .tree_tokens = 24, .num_branches = 2});
    EXPECT_EQ(campaign.wrong, 0) << kernels;
    EXPECT_GT(reads.num_compared, 50) << kernels;
  }
}

TEST(AssistantSource, IsChosenForAnAssistant) {
  Pair pair;
  GreedyVerifier verifier;
  for (const std::string& decoder : generator_names()) {
    Engine engine = borrowing_engine(*pair.model), drafts = borrowing_engine(*pair.assistant);
    const auto generator = make_generator({.name = decoder,
                                           .block_size = 6,
                                           .sources = {"ngram", draft_source_of(drafts)},
                                           .costs = with_draft_cost(0),
                                           .draft_model = &drafts},
                                          engine);
    const Campaign campaign = run_campaign(engine, *pair.model, verifier, *generator, 3);
    EXPECT_EQ(campaign.wrong, 0) << decoder;
    EXPECT_GT(drafts.num_forward_passes(), decoder == "ar" ? 20 : 0) << decoder;
  }
}

TEST(AssistantSource, RestsWhereItDoesNotPayAndBeforeTheModelHasRead) {
  Pair pair;
  Engine engine = borrowing_engine(*pair.model), drafts = borrowing_engine(*pair.assistant);
  Sequence sequence = engine.make_sequence(16);
  const TokenIds tokens{1, 2, 5};
  const auto propose = [&](AssistantSource& source) {
    return source.propose(tokens, {}, {}, {TokenTree(), 4, &sequence})->size();
  };
  AssistantSource source(drafts, DraftWidth(8)),
      dear(drafts, DraftWidth(8, {.costs = with_draft_cost(1), .is_by_model = true}));
  EXPECT_EQ(propose(source), 0u);
  sequence.append(TokenIds{1, 2});
  engine.run({.sequence = &sequence});
  EXPECT_EQ(propose(dear), 0u);
  EXPECT_EQ(drafts.num_forward_passes(), 0);
  EXPECT_EQ(propose(source), 1u);
  EXPECT_EQ(drafts.num_forward_passes(), 4);
}

TEST(AssistantSource, RefusesAModelThatItIsNotFor) {
  Pair pair;
  const auto refused = [&](const std::function<void(ModelConfig&)>& change, const char* why) {
    ModelConfig config = read_config();
    change(config);
    const auto other = Transformer::initialize(config, 1, at::kFloat);
    expect_user_error([&] { pair.assistant->guess_for(*other, "the assistant"); }, {why});
  };
  refused([](ModelConfig& config) { config.hidden_size *= 2; }, "hidden size");
  refused([](ModelConfig& config) { config.num_kv_heads = 1; }, "other heads");
  refused([](ModelConfig& config) { config.layers[1].attention = config.layers[0].attention; },
          "other heads");
  expect_user_error([&] { pair.model->guess_for(*pair.model, "it"); }, {"no assistant"});
}

}  // namespace
}  // namespace predgen
