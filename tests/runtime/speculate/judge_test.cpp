#include <gtest/gtest.h>

#include "runtime/generate/make_generator.h"
#include "runtime/generate/sampler.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/make_verifier.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen {
namespace {

const FakeTokenizer kTokenizer{{"yes", "no"}};

/// A model that replies `reply` to whatever it is asked.
struct Judge {
  FakeLanguageModel model;
  Engine engine = borrowing_engine(model);
  explicit Judge(const std::string& reply)
      : model({.vocab_size = kTokenizer.vocab_size(),
               .next = [id = kTokenizer.encode(reply).front()](TokenSpan) { return id; }}) {}

  std::unique_ptr<Verifier> verifier() {
    return make_verifier({.name = "reflection", .judge = &engine}, kTokenizer, SplitMode::kNatural);
  }
  /// Of the answer "I am. So.", of whose tokens the conversation's model would choose `choice`.
  int64_t accepted(Verifier& verifier, TokenId choice, std::function<bool()> should_stop = {}) {
    const FakeLanguageModel conversation({});
    Engine other = borrowing_engine(conversation);
    const TokenIds tokens = kTokenizer.encode("I am. So.");
    const Draft draft{.tokens = tokens,
                      .first_sentence = 5,
                      .stop_tokens = kTokenizer.stop_tokens(),
                      .prompt_text = "Who",
                      .should_stop = std::move(should_stop)};
    EXPECT_FALSE(verifier.ask(draft, other.make_sequence(1000))) << "no part of the draft's pass";
    at::Tensor logits_DV = at::zeros({std::ssize(tokens), kTokenizer.vocab_size()});
    for (int64_t i = 0; i < std::ssize(tokens); ++i) {
      logits_DV[i][choice > 0 ? choice : tokens[static_cast<size_t>(i)]] = 1;
    }
    const int64_t count =
        verifier.verify(draft, {.logits_DV = logits_DV, .most_likely = argmax_rows(logits_DV)});
    EXPECT_EQ(conversation.num_passes, 0);
    EXPECT_EQ(verifier.num_forward_passes(), model.num_passes);
    return count;
  }
};

TEST(ReflectionWithAJudge, TakesTheJudgesWord) {
  Judge kind("yes"), strict("no");
  EXPECT_EQ(kind.accepted(*kind.verifier(), 'x'), 5);
  EXPECT_EQ(kind.model.num_passes, 1);
  EXPECT_EQ(strict.accepted(*strict.verifier(), 'x'), 0);
  EXPECT_EQ(strict.model.num_passes, 1);
}

TEST(ReflectionWithAJudge, AsksOnlyWhatGreedyDoesNotKeep) {
  Judge strict("no");
  EXPECT_EQ(strict.accepted(*strict.verifier(), 0), 9);
  EXPECT_EQ(strict.model.num_passes, 0);
}

TEST(ReflectionWithAJudge, AsksNothingAboutOutdatedWords) {
  Judge kind("yes");
  EXPECT_EQ(kind.accepted(*kind.verifier(), 'x', [] { return true; }), 0);
  EXPECT_EQ(kind.model.num_passes, 0);
}

TEST(ReflectionWithAJudge, ItsPassesCount) {
  // What is answered depends on the prompt alone.
  const FakeLanguageModel model({.vocab_size = kTokenizer.vocab_size(),
                                 .next = [](TokenSpan tokens) { return 'a' + tokens.front(); }});
  Engine engine = borrowing_engine(model);
  Judge kind("yes");
  const auto verifier = kind.verifier();
  const auto generator = make_generator({.name = "ar"}, engine);
  InputTimeSpeculator speculator(engine, *verifier, *generator, 1000);
  const GenerationConfig config{.max_new_tokens = 4, .stop_tokens = kTokenizer.stop_tokens()};
  speculator.update(TokenIds{1, 5}, "one", config, {});
  const int64_t before = speculator.num_forward_passes();
  const SpeculationStep step = speculator.update(TokenIds{2, 5}, "two", config, {});
  EXPECT_EQ(step.num_accepted, 4);
  EXPECT_EQ(kind.model.num_passes, 1);
  EXPECT_EQ(step.num_forward_passes, 2);
  EXPECT_EQ(speculator.num_forward_passes(), before + 2);
  EXPECT_EQ(speculator.num_forward_passes(), model.num_passes + kind.model.num_passes);
}

}  // namespace
}  // namespace predgen
