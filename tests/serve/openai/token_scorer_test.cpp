#include "serve/openai/token_scorer.h"

#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen::serve {
namespace {

/// The log-probabilities after these tokens, by a pass of their own.
std::vector<double> reference(const FakeLanguageModel& model, TokenSpan tokens) {
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, tokens, 64);
  const at::Tensor logits_1V = engine.run({.sequence = &sequence}).logits.value();
  const at::Tensor logprobs_V = logits_1V[0].to(at::kDouble).log_softmax(-1);
  return {logprobs_V.data_ptr<double>(), logprobs_V.data_ptr<double>() + logprobs_V.numel()};
}

TEST(TokenScorer, TellsHowLikelyEachTokenWas) {
  const FakeTokenizer tokenizer;
  const FakeLanguageModel model({.vocab_size = tokenizer.vocab_size()});
  Engine engine = borrowing_engine(model);
  const TokenIds prompt{'a', 'b', 'c'}, answer{'x', 'y', 'z', 'x', FakeTokenizer::kEnd};
  Sequence sequence = sequence_of(engine, prompt, 64);
  engine.run({.sequence = &sequence});
  TokenScorer scorer(engine, tokenizer, 3);
  std::vector<TokenScore> scores;
  for (const auto& [begin, count] : {std::pair{0, 1}, std::pair{1, 3}, std::pair{4, 1}}) {
    sequence.append(TokenSpan(answer).subspan(begin, count));
    for (TokenScore& score : scorer.score(sequence, count)) scores.push_back(std::move(score));
  }
  ASSERT_EQ(scores.size(), answer.size());
  TokenIds before = prompt;
  for (size_t i = 0; i < answer.size(); ++i) {
    std::vector<double> expected = reference(model, before);
    EXPECT_NEAR(scores[i].logprob, expected[static_cast<size_t>(answer[i])], 1e-5) << i;
    std::ranges::sort(expected, std::greater());
    ASSERT_EQ(scores[i].top.size(), 3u);
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(scores[i].top[k].second, expected[k], 1e-5);
    before.push_back(answer[i]);
  }
  EXPECT_EQ(scores[0].token, "x");
  EXPECT_EQ(scores[4].token, "<end>");
  EXPECT_TRUE(TokenScorer(engine, tokenizer, 0).score(sequence, 1)[0].top.empty());
}

}  // namespace
}  // namespace predgen::serve
