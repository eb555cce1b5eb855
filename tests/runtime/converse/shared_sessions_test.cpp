#include <gtest/gtest.h>

#include "tests/fakes/queued_threads.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/token_language.h"

namespace predgen {
namespace {

constexpr uint64_t kNumSessions = 4, kNumTurns = 3;

struct Answers {
  std::vector<TokenIds> ids;
  int64_t num_passes = 0;
};

/// Some turns of the session with this number: its own words, decoder and preset.
Answers talk(uint64_t number, Engine& engine, const Tokenizer& tokenizer,
             const std::shared_ptr<const TokenConstraint>& constraint = nullptr) {
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  const TalkSetup setup{.decoder = number % 2 == 0 ? "ar" : "jacobi",
                        .preset = number < 2 ? "default" : "eager"};
  SessionConfig config = Stage::session_config(setup);
  config.constraint = constraint;
  Session session(config, engine, tokenizer, std::make_unique<FakeSpeaker>(clock), clock);
  Answers answers;
  for (uint64_t turn = 0; turn < kNumTurns; ++turn) {
    std::vector<Transcript> words = random_transcripts(10 * number + turn, 1e9, 0);
    for (Transcript& heard : words) heard.time += clock.now();
    ScheduledSource source(std::move(words));
    const TurnResult result = session.run_turn(source).value();
    EXPECT_FALSE(result.error);
    answers.ids.push_back(result.answer);
    answers.num_passes += result.metrics.total_nfe;
  }
  return answers;
}

/// Within `constraint` if there is one.
void expect_same_alone(const FakeTokenizer& tokenizer,
                       const std::shared_ptr<const TokenConstraint>& constraint) {
  const FakeLanguageModel model({.vocab_size = tokenizer.vocab_size(), .next = hashed_word});
  std::vector<Answers> alone(kNumSessions), together(kNumSessions);
  for (uint64_t i = 0; i < kNumSessions; ++i) {
    Engine engine = borrowing_engine(model);
    alone[i] = talk(i, engine, tokenizer, constraint);
  }

  EngineLock engine_lock;
  Engine engine = borrowing_engine(model, {.pass_tokens = 40, .engine_lock = &engine_lock});
  std::vector<std::function<void()>> work;
  for (uint64_t i = 0; i < kNumSessions; ++i) {
    work.emplace_back([&, i] { together[i] = talk(i, engine, tokenizer, constraint); });
  }
  run_queued(engine_lock, work);

  int64_t num_passes = 0;
  for (uint64_t i = 0; i < kNumSessions; ++i) {
    EXPECT_EQ(together[i].ids, alone[i].ids) << i;
    num_passes += together[i].num_passes;
  }
  EXPECT_LT(engine.num_forward_passes(), num_passes * 4 / 5) << "passes are not shared";
}

TEST(SharedSessions, SayWhatEachOfThemSaysAlone) { expect_same_alone(FakeTokenizer(kWords), {}); }

TEST(SharedSessions, SayWithinAConstraintWhatEachOfThemSaysAlone) {
  const FakeTokenizer tokenizer(kWords);
  expect_same_alone(tokenizer, std::make_shared<LanguageConstraint>(sentences(tokenizer)));
}

/// However many passes of others there are between them.
TEST(SharedSessions, CountTheirOwnPasses) {
  const FakeTokenizer tokenizer(kWords);
  const FakeLanguageModel model({.vocab_size = tokenizer.vocab_size(), .next = hashed_word});
  std::vector<Answers> together(kNumSessions);
  EngineLock engine_lock;
  Engine engine = borrowing_engine(model, {.pass_sequences = 2, .engine_lock = &engine_lock});
  std::vector<std::function<void()>> work;
  for (uint64_t i = 0; i < kNumSessions; ++i) {
    work.emplace_back([&, i] { together[i] = talk(i, engine, tokenizer); });
  }
  run_queued(engine_lock, work);
  for (uint64_t i = 0; i < kNumSessions; ++i) {
    Engine own = borrowing_engine(model);
    const Answers alone = talk(i, own, tokenizer);
    EXPECT_EQ(alone.num_passes, own.num_forward_passes()) << i;
    EXPECT_EQ(together[i].num_passes, alone.num_passes) << i;
  }
}

}  // namespace
}  // namespace predgen
