#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/stage.h"

namespace predgen {
namespace {

// A context that is too short for the history. The system prompt has 8 ids, a round 16: <user>
// 5 characters <end> <assistant> 7 words or marks <end>; the last question 8.

std::string question(int64_t round) { return fmt::format("turn{}", round); }

TEST(Session, DropsTheOldestRoundsWhenTheContextIsFull) {
  for (const auto work :
       {InputTimeWork::kCascade, InputTimeWork::kPrefill, InputTimeWork::kSpeculate}) {
    Stage stage({.work = work, .system_prompt = "System", .context_length = 80});
    std::vector<int64_t> dropped;
    for (int64_t round = 0; round < 8; ++round) {
      const std::string text = question(round);
      int64_t warned = 0;
      TurnObserver observer;
      observer.on_rounds_dropped = [&](int64_t rounds) { warned = rounds; };
      const double time = 10.0 * static_cast<double>(round + 1);
      const TurnResult result =
          stage.run({partial(text.substr(0, 4), time), final_one(text, time + 1)}, observer);
      EXPECT_EQ(result.text, "Yes I can. Go on!") << round;
      EXPECT_LE(result.prompt.size(), 70u);
      EXPECT_EQ(result.prompt.front(), FakeTokenizer::kSystem);
      EXPECT_EQ(warned, result.dropped_rounds);
      const bool told = std::ranges::any_of(result.events, [&](const TurnEvent& event) {
        return event.kind == TurnEvent::Kind::kRoundsDropped &&
               event.text == std::to_string(result.dropped_rounds);
      });
      EXPECT_EQ(told, result.dropped_rounds > 0);
      // The rounds that are left are the last ones, in their order.
      int64_t first = 0;
      for (const int64_t count : dropped) first += count;
      first += result.dropped_rounds;
      dropped.push_back(result.dropped_rounds);
      std::vector<Message> kept{{.role = "system", .content = "System"}};
      for (int64_t i = first; i < round; ++i) {
        kept.push_back({.role = "user", .content = question(i)});
        kept.push_back({.role = "assistant", .content = "Yes I can. Go on!"});
      }
      kept.push_back({.role = "user", .content = text});
      EXPECT_EQ(result.prompt, stage.tokenizer.render_chat(kept)) << round;
    }
    // Half of the context is freed at once: not every turn pays for another prefix.
    EXPECT_EQ(dropped, (std::vector<int64_t>{0, 0, 0, 0, 2, 0, 2, 0}));
  }
}

TEST(Session, AFullContextDropsTheSameInEveryMethod) {
  int64_t num_dropped = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<std::vector<TurnResult>> results;
    for (const auto work :
         {InputTimeWork::kCascade, InputTimeWork::kPrefill, InputTimeWork::kSpeculate}) {
      Stage stage({.work = work, .next = hashed_word, .context_length = 120});
      auto& turns = results.emplace_back();
      for (uint64_t turn = 0; turn < 6; ++turn) {
        std::vector<Transcript> heard = random_transcripts(seed * 10 + turn, 1e9, 0);
        // Longer than the final one now and then: what is dropped for it is back in the end.
        if (turn % 2) heard.front().text = std::string(70, 'x');
        for (Transcript& transcript : heard) transcript.time += stage.clock.now();
        turns.push_back(stage.run(heard));
      }
    }
    for (size_t turn = 0; turn < results[0].size(); ++turn) {
      for (size_t method = 1; method < results.size(); ++method) {
        EXPECT_EQ(results[method][turn].prompt, results[0][turn].prompt) << seed << " " << turn;
        EXPECT_EQ(results[method][turn].answer, results[0][turn].answer) << seed << " " << turn;
        EXPECT_EQ(results[method][turn].dropped_rounds, results[0][turn].dropped_rounds);
      }
      num_dropped += results[0][turn].dropped_rounds;
    }
  }
  EXPECT_GT(num_dropped, 20);
}

TEST(Session, APromptThatDoesNotFitAloneIsRefused) {
  const std::string text(60, 'x');
  for (const auto work : {InputTimeWork::kCascade, InputTimeWork::kSpeculate}) {
    Stage stage({.work = work, .context_length = 50});
    stage.run({final_one("one", 1)});
    // A transcript that is taken back harms nobody, ..
    const TurnResult result = stage.run({partial(text, 5), final_one("two", 6)});
    EXPECT_EQ(result.text, "Yes I can. Go on!");
    EXPECT_EQ(result.dropped_rounds, 0);
    // .. a final one stays, and ends its turn alone.
    const std::vector<Message> before = stage.session.history();
    const TurnError error = stage.run({final_one(text, 9)}).error.value();
    EXPECT_EQ(error.kind, TurnError::Kind::kContext);
    EXPECT_THAT(error.text, testing::HasSubstr("shorten it"));
    EXPECT_EQ(stage.session.history().size(), before.size());
    Stage other({.work = work, .context_length = 50});
    other.run({final_one("one", 1)});
    other.run({final_one("two", 6)});
    EXPECT_EQ(stage.run({final_one("three", 20)}).prompt,
              other.run({final_one("three", 20)}).prompt);
  }
}

TEST(Session, AGivenHistoryIsShortenedToo) {
  Stage stage({.context_length = 80});
  std::vector<Message> history;
  for (int64_t i = 0; i < 9; ++i) {
    history.push_back({.role = "user", .content = question(i)});
    history.push_back({.role = "assistant", .content = "No."});
  }
  stage.session.set_history(history);
  const TurnResult result = stage.run({final_one("one", 1)});
  EXPECT_GT(result.dropped_rounds, 0);
  // What was prefilled is what the prompt begins with.
  EXPECT_EQ(stage.inner.pass_sizes[0] + stage.inner.pass_sizes[1],
            static_cast<int64_t>(result.prompt.size()));
}

}  // namespace
}  // namespace predgen
