#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>

#include "core/error.h"
#include "runtime/engine/engine.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fragile_model.h"
#include "tests/fakes/gated_recurrence.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/queued_threads.h"
#include "tests/fakes/small_models.h"

namespace predgen {
namespace {

/// Storage comes in steps of so many positions.
constexpr int64_t kStep = 256;

TokenIds tokens_of(int64_t number, int64_t count) {
  TokenIds tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>((7 * number + i) % 29 + 1));
  }
  return tokens;
}

/// Some rounds of five conversations of which the pool has room for two.
class SwappedSequencesOf : public testing::TestWithParam<ModelConfig> {};
constexpr std::array<const char*, 4> kSwappedModels{"Rows", "States", "Experts", "Gemma4"};
INSTANTIATE_TEST_SUITE_P(, SwappedSequencesOf,
                         testing::Values(small_config(), hybrid_config(), experts_config(),
                                         gemma4_config()),
                         [](const auto& test) { return kSwappedModels.at(test.index); });

TEST_P(SwappedSequencesOf, GiveTheSameBits) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  const auto logits = [&](int64_t pool_positions) {
    Engine engine = borrowing_engine(*model, {.pool_positions = pool_positions});
    std::vector<Sequence> sequences;
    for (int64_t i = 0; i < 5; ++i) {
      sequences.push_back(sequence_of(engine, tokens_of(i, 10 + i), 100));
    }
    std::vector<at::Tensor> found;
    int64_t most_swapped_out = 0;
    for (int64_t round = 0; round < 4; ++round) {
      for (int64_t i = 0; i < 5; ++i) {
        Sequence& sequence = sequences[static_cast<size_t>(i)];
        found.push_back(*engine.run({.sequence = &sequence}).logits);
        sequence.append(tokens_of(round, 2));
        EXPECT_LE(engine.pool().num_allocated(), pool_positions);
        most_swapped_out = std::max(most_swapped_out, engine.pool().num_swapped_out());
      }
    }
    EXPECT_EQ(most_swapped_out > 0, pool_positions == 200);
    const int64_t before = engine.pool().num_swapped_out();
    sequences.clear();
    EXPECT_EQ(engine.pool().num_swapped_out(), 0) << before;
    return at::cat(found);
  };
  EXPECT_TRUE(at::equal(logits(200), logits(600)));
}

struct SharedPool {
  explicit SharedPool(int64_t pool_positions)
      : engine(borrowing_engine(model,
                                {.pool_positions = pool_positions, .engine_lock = &engine_lock})) {}

  at::Tensor alone(const Sequence& sequence) const {
    Engine own = borrowing_engine(model);
    Sequence copy = sequence_of(own, sequence.tokens(), 4 * kStep);
    return *own.run({.sequence = &copy}).logits;
  }

  FakeLanguageModel model{{}};
  EngineLock engine_lock;
  Engine engine;
};

TEST(SwappedSequences, WhatDoesNotFitIntoAPassWaitsForTheNext) {
  SharedPool shared(2 * kStep);
  std::vector<Sequence> sequences;
  for (int64_t i = 0; i < 5; ++i) {
    sequences.push_back(sequence_of(shared.engine, tokens_of(i, 3), 4 * kStep));
  }
  std::vector<std::function<void()>> work;
  for (Sequence& sequence : sequences) {
    work.emplace_back([&] {
      for (int64_t round = 0; round < 3; ++round) {
        const at::Tensor expected = shared.alone(sequence);
        EXPECT_TRUE(at::equal(*shared.engine.run({.sequence = &sequence}).logits, expected));
        sequence.append(tokens_of(round, 2));
      }
    });
  }
  std::vector<int64_t> pass_sizes;
  shared.engine.observe_passes(
      [&](const PassSize& pass) { pass_sizes.push_back(pass.num_sequences); });
  run_queued(shared.engine_lock, work);
  // Five want to run, of which two fit, three times.
  EXPECT_EQ(pass_sizes, (std::vector<int64_t>{2, 2, 2, 2, 2, 2, 2, 1}));
}

/// Else each that comes back would swap out the next one, which then has to come back, too.
TEST(SwappedSequences, OnlyTheFirstComesBackWhereOthersAreHere) {
  const FakeLanguageModel model{{}};
  Engine engine = borrowing_engine(model, {.pool_positions = 3 * kStep});
  std::vector<Sequence> sequences;
  for (int64_t i = 0; i < 4; ++i) {
    sequences.push_back(sequence_of(engine, tokens_of(i, 5), kStep));
    engine.run({.sequence = &sequences.back()});  // the last one swaps out the first
  }
  std::vector<EngineRequest> requests;
  for (size_t i = 0; i < 4; ++i) {
    sequences[i].append(tokens_of(1, std::array{1, 10, 2, 3}[i]));
    requests.push_back({.sequence = &sequences[i]});
  }
  std::vector<int64_t> pass_tokens;
  engine.observe_passes([&](const PassSize& pass) { pass_tokens.push_back(pass.num_tokens); });
  engine.run(requests);
  EXPECT_EQ(pass_tokens, (std::vector<int64_t>{1 + 2 + 3, 10}));
}

TEST(SwappedSequences, WhatNeverFitsFailsAlone) {
  SharedPool shared(2 * kStep);
  std::map<int64_t, std::string> errors;
  std::vector<std::function<void()>> work;
  for (const int64_t count : {2 * kStep + 1, int64_t{5}, int64_t{9}}) {
    work.emplace_back([&, count] {
      Sequence sequence = sequence_of(shared.engine, tokens_of(1, count), 4 * kStep);
      try {
        const at::Tensor expected = shared.alone(sequence);
        EXPECT_TRUE(at::equal(*shared.engine.run({.sequence = &sequence}).logits, expected));
      } catch (const UserError& error) {
        errors[count] = error.what();
      }
    });
  }
  run_queued(shared.engine_lock, work);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[2 * kStep + 1].find("KV pool is full"), std::string::npos);
  EXPECT_EQ(shared.engine.pool().num_allocated(), 0);
}

/// A pass that fails gives up its hold on the room.
TEST(SwappedSequences, AFailedPassHoldsNothing) {
  const FragileModel model;
  Engine engine = borrowing_engine(model, {.pool_positions = kStep});
  Sequence broken = sequence_of(engine, TokenIds(5, kPoison), kStep);
  EXPECT_THROW(engine.run({.sequence = &broken}), Error);
  EXPECT_EQ(engine.pool().num_allocated(), kStep);
  Sequence other = sequence_of(engine, tokens_of(2, 30), kStep);
  EXPECT_TRUE(engine.run({.sequence = &other}).logits.has_value());
}

}  // namespace
}  // namespace predgen
