#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "runtime/engine/engine.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

/// A pass with this token fails.
constexpr TokenId kPoison = 30;

class FragileModel : public FakeLanguageModel {
 public:
  FragileModel() : FakeLanguageModel({}) {}
  using LanguageModel::forward;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    for (const SequenceStep& step : steps) {
      if (std::ranges::find(step.tokens, kPoison) != step.tokens.end()) throw Error("poisoned");
    }
    return FakeLanguageModel::forward(steps);
  }
};

struct Shared {
  explicit Shared(int64_t pass_tokens = 512)
      : engine(borrowing_engine(model, {.pass_tokens = pass_tokens, .baton = &baton})) {}

  /// Runs the requests, each in a thread of its own; their order in `ended` is that of the ends.
  void run(std::vector<EngineRequest> requests) {
    results.resize(requests.size());
    std::vector<std::function<void()>> work;
    for (size_t i = 0; i < requests.size(); ++i) {
      work.emplace_back([&, i] {
        try {
          results[i] = engine.run(requests[i]);
        } catch (const Error& error) {
          errors[i] = error.what();
        }
        ended.push_back(i);
      });
    }
    run_queued(baton, work);
  }

  /// That many tokens, none of them run.
  Sequence sequence(int64_t num_tokens, TokenId first = 1) {
    TokenIds tokens(static_cast<size_t>(num_tokens), 2);
    tokens.front() = first;
    return sequence_of(engine, tokens, 64);
  }

  /// The logits of a sequence that nobody shares a pass with.
  at::Tensor alone(const Sequence& sequence) const {
    Engine own = borrowing_engine(model);
    Sequence copy = sequence_of(own, sequence.tokens(), 64);
    return *own.run({.sequence = &copy}).logits;
  }

  FragileModel model;
  Baton baton;
  Engine engine;
  std::vector<EngineResult> results;
  std::map<size_t, std::string> errors;
  std::vector<size_t> ended;
};

TEST(SharedEngine, RequestsOfAllThreadsRunInOnePass) {
  Shared shared;
  std::vector<Sequence> sequences;
  for (int64_t i = 1; i <= 4; ++i) sequences.push_back(shared.sequence(i, static_cast<TokenId>(i)));
  shared.run({{.sequence = &sequences[0]},
              {.sequence = &sequences[1]},
              {.sequence = &sequences[2]},
              {.sequence = &sequences[3]}});
  EXPECT_EQ(shared.model.pass_sizes, (std::vector<int64_t>{10}));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(at::equal(*shared.results[i].logits, shared.alone(sequences[i]))) << i;
  }
}

TEST(SharedEngine, SpeculativeWorkWaitsForWhatIsMoreUrgent) {
  Shared shared(/*pass_tokens=*/4);
  Sequence draft = shared.sequence(6), sentence = shared.sequence(6), answer = shared.sequence(6);
  shared.run({{.sequence = &draft, .priority = Priority::kSpeculative},
              {.sequence = &sentence, .priority = Priority::kFirstSentence},
              {.sequence = &answer, .priority = Priority::kCommitted}});
  EXPECT_EQ(shared.ended, (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(shared.model.pass_sizes, (std::vector<int64_t>{4, 4, 4, 4, 2}));
}

TEST(SharedEngine, AShortRequestDoesNotWaitForALongPrompt) {
  Shared shared(/*pass_tokens=*/4);
  Sequence prompt = shared.sequence(12), next = shared.sequence(1);
  shared.run({{.sequence = &prompt}, {.sequence = &next}});
  EXPECT_EQ(shared.ended, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(shared.results[1].num_forward_passes, 1);
  EXPECT_EQ(shared.model.pass_sizes, (std::vector<int64_t>{4, 4, 4, 1}));
}

TEST(SharedEngine, AFailureIsItsOwnThreads) {
  Shared shared;
  Sequence good = shared.sequence(3), bad = shared.sequence(3, kPoison), other = shared.sequence(5);
  shared.run({{.sequence = &good}, {.sequence = &bad}, {.sequence = &other}});
  ASSERT_EQ(shared.errors, (std::map<size_t, std::string>{{1, "poisoned"}}));
  EXPECT_TRUE(at::equal(*shared.results[0].logits, shared.alone(good)));
  EXPECT_TRUE(at::equal(*shared.results[2].logits, shared.alone(other)));
  EXPECT_EQ(bad.num_cached(), 0);
  bad.replace(TokenIds{1, 2, 2});
  shared.run({{.sequence = &bad}});
  EXPECT_TRUE(at::equal(*shared.results[0].logits, shared.alone(good)));
}

TEST(SharedEngine, WhoWaitsForRoomCanStop) {
  Shared shared(/*pass_tokens=*/4);
  Sequence draft = shared.sequence(6), other = shared.sequence(6), answer = shared.sequence(9);
  shared.run(
      {{.sequence = &draft, .priority = Priority::kSpeculative, .should_stop = [] { return true; }},
       {.sequence = &other,
        .priority = Priority::kSpeculative,
        .should_stop = []() -> bool { throw Interrupted(); }},
       {.sequence = &answer}});
  EXPECT_EQ(shared.ended, (std::vector<size_t>{0, 1, 2}));
  EXPECT_FALSE(shared.results[0].logits);
  EXPECT_EQ(shared.results[0].num_forward_passes, 0);
  EXPECT_EQ(shared.errors, (std::map<size_t, std::string>{{1, "interrupted"}}));
  EXPECT_TRUE(at::equal(*shared.results[2].logits, shared.alone(answer)));
}

TEST(SharedEngine, IsNotUsedWithoutItsBaton) {
  Shared shared;
  Sequence sequence = shared.sequence(3);
  EXPECT_THROW(shared.engine.run({.sequence = &sequence}), Error);
}

}  // namespace
}  // namespace predgen
