#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fakes/stage.h"

namespace predgen {
namespace {

const std::string kThinking = "<think>Hm. So.</think>Yes I can. Go on!";

std::vector<Transcript> growing() {
  return {partial("on", 1), partial("one", 2), final_one("one", 4)};
}

std::vector<std::string> spoken_texts(const FakeSpeaker::Timed& said) {
  std::vector<std::string> all;
  for (const auto& [time, text] : said) all.push_back(text);
  return all;
}

TEST(SessionThoughts, AreNeitherSpokenNorTheFirstSentence) {
  for (const auto split_mode : {SplitMode::kNatural, SplitMode::kPaper}) {
    for (const char* decoder : {"ar", "jacobi"}) {
      for (const auto work :
           {InputTimeWork::kCascade, InputTimeWork::kSpeculate, InputTimeWork::kPreempt}) {
        Stage stage({.work = work,
                     .split_mode = split_mode,
                     .decoder = decoder,
                     .answer = [](const std::string&) { return kThinking; }});
        std::string shown, drafts;
        TurnObserver observer;
        observer.on_text = [&](const std::string& text) { shown += text; };
        observer.on_draft = [&](const std::string& draft, size_t) { drafts += draft; };
        const TurnResult result = stage.run(growing(), observer);
        EXPECT_EQ(result.text, "Yes I can. Go on!");
        EXPECT_EQ(shown, result.text);
        EXPECT_EQ(drafts.find("Hm"), std::string::npos);
        EXPECT_EQ(result.thought, "Hm. So.");
        EXPECT_EQ(result.thought_tokens,
                  std::ssize(stage.tokenizer.encode("<think>Hm. So.</think>")) - 6);
        EXPECT_EQ(result.first_sentence, "Yes I can.");
        EXPECT_EQ(result.first_sentence_tokens,
                  std::ssize(stage.tokenizer.encode("<think>Hm. So.</think>Yes I can.")));
        ASSERT_EQ(stage.speaker.all_said.size(), 1u);
        EXPECT_EQ(spoken_texts(stage.speaker.all_said[0]),
                  (std::vector<std::string>{"Yes I can.", "Go on!"}));
        const Message last = stage.session.history().back();
        EXPECT_EQ(last.content, result.text);
        EXPECT_EQ(last.thought, "Hm. So.");
        EXPECT_TRUE(last.ids.empty());
      }
    }
  }
}

TEST(SessionThoughts, AThoughtThatIsNotClosedIsNoAnswer) {
  Stage stage({.answer = [](const std::string&) { return "<think>Hm. Go on."; }});
  const TurnResult result = stage.run(growing());
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.thought, "Hm. Go on.");
  EXPECT_FALSE(result.metrics.ttfs);
}

TEST(SessionThoughts, AreDroppedFromThePromptOfTheNextTurn) {
  Stage stage({.answer = [](const std::string& user) {
    return user == "two" ? std::string("No.") : kThinking;
  }});
  stage.run(growing());
  const TurnResult second = stage.run({partial("tw", 5), final_one("two", 6)});
  const std::string prompt = stage.tokenizer.decode(second.prompt);
  EXPECT_EQ(prompt, "oneYes I can. Go on!two");
  EXPECT_EQ(second.text, "No.");
  EXPECT_EQ(second.thought_tokens, 0);
  EXPECT_FALSE(stage.session.history().back().ids.empty());
}

/// Random answers that think, begin a thought in the prompt, or do not: what is drafted changes
/// nothing.
TEST(SessionThoughts, DraftsChangeNothing) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const auto transcripts = random_transcripts(seed, 1e9, 0);
    const auto answer = [seed](const std::string& user) {
      Random random(seed, user);
      const std::vector<std::string> parts{"<think>", "</think>", "Yes I can.", " Go on!",
                                           "[THINK]", "[/THINK]", " well"};
      std::string text;
      for (uint64_t left = 1 + random.below(4); left > 0; --left) {
        text += parts[random.below(parts.size())];
      }
      return text;
    };
    Stage plain({.work = InputTimeWork::kCascade, .answer = answer});
    const TurnResult expected = plain.run(transcripts);
    for (const char* decoder : {"ar", "jacobi"}) {
      Stage stage({.decoder = decoder, .answer = answer});
      const TurnResult got = stage.run(transcripts);
      EXPECT_EQ(got.answer, expected.answer) << seed;
      EXPECT_EQ(got.text, expected.text) << seed;
      EXPECT_EQ(got.thought, expected.thought) << seed;
      EXPECT_EQ(got.first_sentence, expected.first_sentence) << seed;
      EXPECT_EQ(got.first_sentence_tokens, expected.first_sentence_tokens) << seed;
      EXPECT_EQ(spoken_texts(stage.speaker.all_said[0]), spoken_texts(plain.speaker.all_said[0]))
          << seed;
    }
  }
}

}  // namespace
}  // namespace predgen
