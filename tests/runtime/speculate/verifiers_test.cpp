#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/generate/sampler.h"
#include "runtime/speculate/make_verifier.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen {
namespace {

// Ranks of ids 0..4 in every row: 0 is the likeliest, then 1 and 2 tie, then 3, 4.
at::Tensor rows(int64_t count) { return at::tensor({5.f, 4.f, 4.f, 2.f, 1.f}).repeat({count, 1}); }

DraftLogits said(const at::Tensor& logits_DV, const std::optional<at::Tensor>& reply_QV = {}) {
  return {.logits_DV = logits_DV, .most_likely = argmax_rows(logits_DV), .reply_QV = reply_QV};
}

const FakeTokenizer kTokenizer{{"yes", "No", " yes "}};

int64_t accepted(const VerifierConfig& config, const TokenIds& tokens, int64_t first_sentence,
                 const TokenIds& stops = {}, std::optional<at::Tensor> logits_DV = {}) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  const Sequence sequence = engine.make_sequence(8);
  const auto verifier = make_verifier(config, kTokenizer, SplitMode::kNatural);
  const Draft draft{.tokens = tokens,
                    .first_sentence = first_sentence,
                    .stop_tokens = stops,
                    .prompt_text = "hi"};
  EXPECT_FALSE(verifier->ask(draft, sequence)) << "these look at nothing but the draft";
  return verifier->verify(draft, said(logits_DV.value_or(rows(std::ssize(tokens)))));
}

TEST(GreedyVerifier, AcceptsTheLongestRunOfArgmaxes) {
  EXPECT_EQ(accepted({}, {0, 0, 0}, 3), 3);
  EXPECT_EQ(accepted({}, {0, 1, 0}, 3), 1);
  EXPECT_EQ(accepted({}, {3, 0, 0}, 3), 0);
}

TEST(GreedyVerifier, TakesTheLowestIdAmongEquals) {
  const at::Tensor tie = at::tensor({1.f, 2.f, 2.f}).view({1, 3});
  EXPECT_EQ(accepted({}, {1}, 0, {}, tie), 1);
  EXPECT_EQ(accepted({}, {2}, 0, {}, tie), 0);
}

TEST(TopKVerifier, CountsStrictlyGreaterLogits) {
  // One logit is greater than those of 1 and 2, three are greater than that of 3.
  EXPECT_EQ(accepted({.name = "topk", .top_k = 2}, {1, 2, 0, 3}, 4), 3);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 3}, {3}, 1), 0);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 4}, {3, 4}, 2), 1);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 1}, {0, 1}, 2), 1);
}

TEST(TopKVerifier, IsGreedyAfterTheFirstSentence) {
  EXPECT_EQ(accepted({.name = "topk"}, {1, 1, 1, 0}, 2), 2);
  EXPECT_EQ(accepted({.name = "topk"}, {1, 1, 0, 0, 1}, 2), 4);
}

TEST(TopKVerifier, TakesStopTokensOnlyAsArgmax) {
  EXPECT_EQ(accepted({.name = "topk"}, {1, 2}, 2, {2}), 1);
  EXPECT_EQ(accepted({.name = "topk"}, {1, 0}, 2, {0}), 2);
}

/// What it asks about a draft, and what it makes of the replies.
struct Reflection {
  FakeLanguageModel model{{}};
  Engine engine = borrowing_engine(model);
  Sequence sequence = engine.make_sequence(1000);
  std::unique_ptr<Verifier> verifier;
  TokenIds tokens;
  TokenIds stops{FakeTokenizer::kEnd};

  explicit Reflection(const std::string& answer, int64_t num_sentences = 1)
      : verifier(make_verifier({.name = "reflection", .judged_sentences = num_sentences},
                               kTokenizer, SplitMode::kNatural)),
        tokens(kTokenizer.encode(answer)) {}

  Draft draft() const {
    return {.tokens = tokens, .first_sentence = 1, .stop_tokens = stops, .prompt_text = "Tell me"};
  }
  /// Every question, as the pass sees it.
  std::vector<std::string> questions() {
    const auto request = verifier->ask(draft(), sequence);
    if (!request) return {};
    EXPECT_NE(request->sequence, &sequence);
    std::vector<std::string> texts;
    const auto size = static_cast<int64_t>(request->draft.size());
    for (int64_t row = size == 0 ? -1 : 0; row < size; ++row) {
      TokenIds path(request->sequence->tokens().begin(), request->sequence->tokens().end());
      for (int64_t column = 0; column <= row; ++column) {
        const at::Tensor& sees_GG = request->tree_GG;
        if (sees_GG.defined() && !sees_GG[row][column].item<bool>()) continue;
        path.push_back(request->draft[static_cast<size_t>(column)]);
      }
      if (path.back() == FakeTokenizer::kAssistant) texts.push_back(kTokenizer.decode(path, true));
    }
    return texts;
  }
  /// `judgements`: of each row of the reply, what is likelier; the draft's own logits say 0 always.
  int64_t accepted(const std::map<int64_t, std::string>& judgements) {
    const auto request = verifier->ask(draft(), sequence);
    const auto size = static_cast<int64_t>(request->draft.size());
    at::Tensor reply_QV = at::zeros({size + 1, kTokenizer.vocab_size()});
    for (const auto& [row, word] : judgements) {
      reply_QV[row < 0 ? size + 1 + row : row][kTokenizer.encode(word).front()] = 9;
    }
    const at::Tensor logits_DV = at::zeros({std::ssize(tokens), kTokenizer.vocab_size()});
    return verifier->verify(draft(), said(logits_DV, reply_QV));
  }
};

TEST(ReflectionVerifier, AsksAboutTheFirstSentence) {
  Reflection reflection("I am. You are.");
  const std::vector<std::string> questions = reflection.questions();
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_THAT(questions[0], testing::EndsWith("Partial Prompt: Tell me\nPartial Answer: I am.<end>"
                                              "<assistant>"));
  // An unfinished one is asked about as far as it goes; without words there is nothing to ask.
  EXPECT_THAT(Reflection("I a").questions()[0], testing::HasSubstr("Partial Answer: I a<end>"));
  EXPECT_TRUE(Reflection(" ").questions().empty());
}

TEST(ReflectionVerifier, AsksInWholeCharacters) {
  EXPECT_THAT(Reflection("I a\xf0\x9f").questions()[0],
              testing::HasSubstr("Partial Answer: I a\uFFFD<end>"));
}

TEST(ReflectionVerifier, AsksAboutSeveralSentencesInOnePass) {
  Reflection reflection("I am. You are. They are. We are.", 3);
  const std::vector<std::string> questions = reflection.questions();
  ASSERT_EQ(questions.size(), 3u);
  EXPECT_THAT(questions[0], testing::HasSubstr("Partial Answer: I am.<end>"));
  EXPECT_THAT(questions[1], testing::HasSubstr("Partial Answer: I am. You are.<end>"));
  EXPECT_THAT(questions[2], testing::HasSubstr("Partial Answer: I am. You are. They are.<end>"));
}

TEST(ReflectionVerifier, YesKeepsTheSentenceAndNoWhatIsGreedy) {
  EXPECT_EQ(Reflection("I am. You are.").accepted({{-1, "yes"}}), 5);
  EXPECT_EQ(Reflection("I am. You are.").accepted({{-1, " yes "}}), 5);
  EXPECT_EQ(Reflection("I am. You are.").accepted({{-1, "No"}}), 0);
  Reflection stopped("I am.");
  stopped.tokens.push_back(FakeTokenizer::kEnd);  // never by a judgement
  EXPECT_EQ(stopped.accepted({{-1, "yes"}}), 5);
}

TEST(ReflectionVerifier, KeepsTheSentencesBeforeTheFirstNo) {
  // The tree: "<end><assistant>" of the first sentence, then the second one and its own end.
  Reflection reflection("I am. Go! We.", 2);
  ASSERT_EQ(reflection.questions().size(), 2u);
  EXPECT_EQ(reflection.accepted({{2, "yes"}, {-1, "yes"}}), 9);
  EXPECT_EQ(reflection.accepted({{2, "yes"}, {-1, "No"}}), 5);
  EXPECT_EQ(reflection.accepted({{2, "No"}, {-1, "yes"}}), 0);
}

TEST(ReflectionVerifier, IsGreedyWithoutAReply) {
  Reflection reflection("I am.");
  reflection.questions();
  const at::Tensor logits_DV = at::zeros({5, kTokenizer.vocab_size()});
  EXPECT_EQ(reflection.verifier->verify(reflection.draft(), said(logits_DV)), 0);
  reflection.sequence = reflection.engine.make_sequence(20);  // too short for a question
  EXPECT_TRUE(reflection.questions().empty());
}

TEST(ReflectionVerifier, NeedsWordsToJudgeBy) {
  const FakeTokenizer silent;
  expect_user_error([&] { make_verifier({.name = "reflection"}, silent, SplitMode::kNatural); },
                    {"\"yes\"", "another verifier"});
}

TEST(MakeVerifier, NamesItsList) {
  const auto refuse = [](const VerifierConfig& config, std::vector<std::string> words) {
    expect_user_error([&] { make_verifier(config, kTokenizer, SplitMode::kNatural); }, words);
  };
  refuse({.name = "magic"}, {"magic", "greedy", "topk", "reflection"});
  refuse({.name = "topk", .top_k = 0}, {"top-k", "0"});
  refuse({.name = "reflection", .judged_sentences = 0}, {"1 sentence", "0"});
}

}  // namespace
}  // namespace predgen
