#include "runtime/converse/words_end.h"

#include <gtest/gtest.h>

#include "tests/fakes/stage.h"

namespace predgen {
namespace {

History::Prompt render(const FakeTokenizer& tokenizer, const std::string& text) {
  return History(tokenizer, "").prompt(text, {.context_length = 256, .answer_length = 16});
}

TEST(WordsEnd, IsWhereTheTemplateGoesOn) {
  const FakeTokenizer tokenizer;
  const auto at = [&](const std::string& said, const std::string& words) {
    return words_end(render(tokenizer, said), words,
                     [&](const std::string& text) { return render(tokenizer, text); });
  };
  EXPECT_EQ(at("hi", "hi"), 3);           // <user> h i | <end> <assistant>
  EXPECT_EQ(at("hi you?", "hi you"), 7);  // in front of the mark
}

TEST(WordsEnd, IsNotFoundWhereRoundsWereDropped) {
  const FakeTokenizer tokenizer;
  History::Prompt longer = render(tokenizer, "hi and");
  longer.dropped_rounds = 1;
  EXPECT_FALSE(
      words_end(render(tokenizer, "hi"), "hi", [&](const std::string&) { return longer; }));
}

TEST(EndByWords, TheLikeliestEndCounts) {
  const FakeTokenizer tokenizer;
  const EndByWords by_words(tokenizer);
  const auto with = [&](TokenId token, double probability) {
    const auto size = static_cast<double>(tokenizer.vocab_size());
    at::Tensor logits_V = at::full({tokenizer.vocab_size()}, std::log((1 - probability) / size));
    logits_V[token] = std::log(probability);
    return by_words.probability(logits_V);
  };
  for (const TokenId end : {TokenId{'.'}, TokenId{'?'}, TokenId{'!'}, FakeTokenizer::kEnd}) {
    EXPECT_GT(with(end, 0.5), 0.9) << end;
    EXPECT_LT(with(end, 0.01), 0.5) << end;
    EXPECT_GT(with(end, 0.3), with(end, 0.2)) << end;
  }
  EXPECT_LT(with('x', 0.99), 0.1);
}

TEST(EndByWords, MarksOfTheRecogniserAreLeftOut) {
  EXPECT_EQ(EndByWords::without_marks("...what time is it? "), "...what time is it");
  EXPECT_EQ(EndByWords::without_marks("well..."), "well");
  EXPECT_EQ(EndByWords::without_marks("?!"), "");
  EXPECT_EQ(EndByWords::without_marks("well\u2026"), "well");
  EXPECT_EQ(EndByWords::without_marks("\u4f60\u597d\u3002"), "\u4f60\u597d");
}

/// A model that expects the message to end after "bye", and nowhere else.
TalkSetup ends_after_bye() {
  return {.next = [](TokenSpan history) -> TokenId {
    if (history.back() == FakeTokenizer::kAssistant) return 'Y';
    return history.back() == 'e' || history.back() == 'Y' ? FakeTokenizer::kEnd : 'x';
  }};
}

TEST(EndByWords, IsToldWithThePassThatVerifies) {
  Stage stage(ends_after_bye());
  std::vector<std::pair<std::string, double>> told;
  TurnObserver observer;
  observer.on_end_by_words = [&](const std::string& words, double probability) {
    told.emplace_back(words, probability);
  };
  const std::vector<Transcript> said{partial("good", 1), partial("good bye.", 2),
                                     final_one("good bye.", 3)};
  const TurnResult result = stage.run(said, observer);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].first, "good");
  EXPECT_EQ(told[1].first, "good bye.");
  EXPECT_GT(told[1].second, 2 * told[0].second);  // that model is never sure
  Stage silent(ends_after_bye());
  const TurnResult without = silent.run(said);
  EXPECT_EQ(result.metrics.total_nfe, without.metrics.total_nfe);
  EXPECT_EQ(result.answer, without.answer);
}

}  // namespace
}  // namespace predgen
