#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "runtime/engine/engine.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_streams.h"
#include "tests/fakes/fragile_model.h"
#include "tests/fakes/queued_threads.h"

namespace predgen {
namespace {

struct Shared {
  explicit Shared(int64_t pass_tokens = 512)
      : engine(borrowing_engine(model, {.pass_tokens = pass_tokens, .engine_lock = &engine_lock})) {
  }

  /// Runs the requests, each in a thread of its own; their order in `ended` is that of the ends.
  void run(std::vector<EngineRequest> requests) {
    results.resize(requests.size());
    std::vector<std::function<void()>> work;
    for (size_t i = 0; i < requests.size(); ++i) {
      work.emplace_back([&, i] {
        try {
          results[i] = engine.run(requests[i]);
        } catch (const std::exception& error) {
          errors[i] = error.what();
        }
        ended.push_back(i);
      });
    }
    run_queued(engine_lock, work);
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
  EngineLock engine_lock;
  Engine engine;
  std::vector<EngineResult> results;
  std::map<size_t, std::string> errors;
  std::vector<size_t> ended;
};

/// A pass over one token costs as much as 20 further ones.
TEST(SharedEngine, SpeculationMakesWayForAnswers) {
  const auto pass_sizes = [](bool yields) {
    Shared shared;
    if (yields) shared.engine.yield_speculation(20);
    std::vector<int64_t> sizes;
    shared.engine.observe_passes([&](const PassSize& size) { sizes.push_back(size.num_tokens); });
    Sequence answer = shared.sequence(11), draft = shared.sequence(40), other = shared.sequence(60);
    shared.run({{.sequence = &draft, .priority = Priority::kSpeculative},
                {.sequence = &answer, .priority = Priority::kCommitted},
                {.sequence = &other, .priority = Priority::kSpeculative}});
    EXPECT_EQ(shared.results.size(), 3u);
    for (const EngineResult& result : shared.results) EXPECT_TRUE(result.logits.has_value());
    return sizes;
  };
  // 11 and 15 % of 20 + 10; then what is left of the drafts, in passes that cost four at most.
  EXPECT_EQ(pass_sizes(true), (std::vector<int64_t>{11 + 4, 80, 16}));
  EXPECT_EQ(pass_sizes(false), (std::vector<int64_t>{111}));
}

/// Where tokens cost nothing, they need not.
TEST(SharedEngine, SpeculationThatCostsNothingStays) {
  Shared shared;
  shared.engine.yield_speculation(std::numeric_limits<int64_t>::max());
  Sequence answer = shared.sequence(11), draft = shared.sequence(40);
  shared.run({{.sequence = &draft, .priority = Priority::kSpeculative}, {.sequence = &answer}});
  EXPECT_EQ(shared.engine.num_forward_passes(), 1);
}

/// However little room there is for it.
TEST(SharedEngine, SpeculationAloneGoesOn) {
  Shared shared;
  shared.engine.yield_speculation(0);
  Sequence draft = shared.sequence(3);
  const TokenIds guessed(30, 3);
  shared.run({{.sequence = &draft, .draft = guessed, .priority = Priority::kSpeculative}});
  EXPECT_TRUE(shared.results[0].logits.has_value());
}

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
  Sequence draft = shared.sequence(6), answer = shared.sequence(6);
  shared.run({{.sequence = &draft, .priority = Priority::kSpeculative},
              {.sequence = &answer, .priority = Priority::kCommitted}});
  EXPECT_EQ(shared.ended, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(shared.model.pass_sizes, (std::vector<int64_t>{4, 4, 4}));
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

TEST(SharedEngine, ALongPromptRunsInPiecesBesideOthers) {
  Shared shared;
  shared.engine.share_fairly(8);
  Sequence prompt = shared.sequence(12), next = shared.sequence(1);
  shared.run({{.sequence = &prompt}, {.sequence = &next}});
  EXPECT_EQ(shared.ended, (std::vector<size_t>{1, 0}));
  // Half of 8 beside one token, then beside what may come back.
  EXPECT_EQ(shared.model.pass_sizes, (std::vector<int64_t>{1 + 4, 4, 4}));
  EXPECT_TRUE(at::equal(*shared.results[0].logits, shared.alone(prompt)));
}

TEST(SharedEngine, ALongPromptRunsInPiecesWhereTokensCostNothing) {
  Shared shared(/*pass_tokens=*/8);
  shared.engine.share_fairly(std::numeric_limits<int64_t>::max());
  Sequence prompt = shared.sequence(12), next = shared.sequence(1);
  shared.run({{.sequence = &prompt}, {.sequence = &next}});
  EXPECT_EQ(shared.model.pass_sizes, (std::vector<int64_t>{1 + 4, 4, 4}));
}

TEST(SharedEngine, WhatWasKeptGoesWhenMemoryRunsOut) {
  Shared shared;
  int64_t num_kept = 1;
  shared.model.fails = [&] {
    if (num_kept > 0) throw std::bad_alloc();
  };
  Sequence first = shared.sequence(3), second = shared.sequence(5);
  shared.run({{.sequence = &first}});
  EXPECT_EQ(shared.errors.size(), 1u);  // nobody gives anything back
  shared.errors.clear();
  shared.engine.on_exhaustion([&] { return std::exchange(num_kept, 0) > 0; });
  shared.run({{.sequence = &first}, {.sequence = &second}});
  EXPECT_TRUE(shared.errors.empty());
  EXPECT_TRUE(at::equal(*shared.results[1].logits, shared.alone(second)));
  num_kept = 1;
  shared.engine.on_exhaustion([] { return false; });
  shared.run({{.sequence = &first}});
  EXPECT_EQ(shared.errors.size(), 1u);
}

TEST(SharedEngine, PassesCanHaveAThreadOfTheirOwn) {
  FragileModel model;
  std::set<std::thread::id> asking, running;
  model.fails = [&] { running.insert(std::this_thread::get_id()); };
  EngineLock engine_lock;
  Engine engine = borrowing_engine(model, {.engine_lock = &engine_lock, .has_thread = true});
  const auto ask = [&](TokenId first) {
    asking.insert(std::this_thread::get_id());
    Sequence sequence = sequence_of(engine, TokenIds{first}, 64);
    for (int i = 0; i < 3; ++i) {
      engine.run({.sequence = &sequence});
      sequence.append(TokenIds{2});
    }
    sequence.append(TokenIds{kPoison});
    EXPECT_THROW(engine.run({.sequence = &sequence}), Error);
  };
  run_queued(engine_lock, {[&] { ask(1); }, [&] { ask(2); }, [&] { ask(3); }});
  EXPECT_EQ(asking.size(), 3u);
  ASSERT_EQ(running.size(), 1u);
  EXPECT_FALSE(asking.contains(*running.begin()));
}

/// On a GPU passes have a stream of their own, ordered with that of the thread that asks.
TEST(PassThread, ItsStreamWaitsForTheAskingOneAndThatForIt) {
  FakeStreams streams;
  PassThread passes(FakeStreams::device());
  streams.work("ask");
  passes.run([&] {
    EXPECT_TRUE(FakeStreams::is_of_high_priority(streams.getStream(FakeStreams::device())));
    streams.work("pass");
  });
  streams.work("read");
  EXPECT_TRUE(streams.comes_before("ask", "pass"));
  EXPECT_TRUE(streams.comes_before("pass", "read"));
  {
    const c10::StreamGuard voice(streams.getStreamFromGlobalPool(FakeStreams::device(), false));
    streams.work("speak");
  }
  EXPECT_THROW(passes.run([&] {
    streams.work("fail");
    throw Error("a pass");
  }),
               Error);
  streams.work("give up");
  EXPECT_TRUE(streams.comes_before("fail", "give up"));
  passes.run([&] { streams.work("next"); });
  EXPECT_FALSE(streams.comes_before("speak", "next"));
  EXPECT_TRUE(streams.comes_before("read", "next"));
}

TEST(SharedEngine, IsNotUsedWithoutItsLock) {
  Shared shared;
  Sequence sequence = shared.sequence(3);
  EXPECT_THROW(shared.engine.run({.sequence = &sequence}), Error);
}

}  // namespace
}  // namespace predgen
