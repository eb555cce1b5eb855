#include "data/example_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen::data {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

constexpr TokenId kU = FakeTokenizer::kUser, kA = FakeTokenizer::kAssistant,
                  kE = FakeTokenizer::kEnd;

CorpusConversation conversation(const std::vector<std::string>& texts) {
  CorpusConversation result;
  result.id = "c";
  result.language = "English";
  for (size_t i = 0; i < texts.size(); ++i) {
    result.messages.push_back({i % 2 == 0 ? "user" : "assistant", texts[i]});
  }
  return result;
}

TokenIds masked(const Record& record) {
  TokenIds targets;
  for (size_t t = 0; t < record.tokens.size(); ++t) {
    if (record.loss_mask[t]) targets.push_back(record.tokens[t]);
  }
  return targets;
}

TEST(ExampleBuilder, KeepsHistoryAndCutsOnlyTheLastPrompt) {
  const FakeTokenizer tokenizer;
  const ExampleBuilder builder(tokenizer, "none");
  const CorpusConversation source = conversation({"ab", "cd", "efgh", "ij", "kl", "mn"});
  std::map<TokenIds, int> cut_prompts;
  for (uint64_t row = 0; row < 300; ++row) {
    const Record record = builder.truncated(source, Random(1, "round", row));
    if (record.round != 1) continue;
    TokenIds prompt(record.tokens.begin(), record.tokens.begin() + record.prompt_length);
    const TokenIds history{kU, 'a', 'b', kE, kA, 'c', 'd', kE, kU};
    ASSERT_GE(prompt.size(), history.size() + 2);
    EXPECT_EQ(TokenIds(prompt.begin(), prompt.begin() + 9), history);
    EXPECT_EQ(TokenIds(prompt.end() - 2, prompt.end()), (TokenIds{kE, kA}));
    ++cut_prompts[{prompt.begin() + 9, prompt.end() - 2}];
    EXPECT_EQ(TokenIds(record.tokens.begin() + record.prompt_length, record.tokens.end()),
              (TokenIds{'i', 'j', kE}));
    EXPECT_EQ(masked(record), (TokenIds{'i', 'j', kE}));
  }
  EXPECT_EQ(cut_prompts.size(), 5u);  // k = 0 .. 4, both ends included
  for (const auto& [prompt, count] : cut_prompts) {
    const TokenIds whole{'e', 'f', 'g', 'h'};
    EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), whole.begin()));
  }
}

TEST(ExampleBuilder, DrawsRoundAndCutUniformly) {
  const FakeTokenizer tokenizer;
  const ExampleBuilder builder(tokenizer, "none");
  const CorpusConversation source = conversation({"abc", "x", "def", "x", "ghi", "x", "jkl", "x"});
  std::map<int64_t, int> rounds, cuts;
  constexpr int kDraws = 8000;
  for (uint64_t row = 0; row < kDraws; ++row) {
    const Record record = builder.truncated(source, Random(3, "round", row));
    ++rounds[record.round];
    ++cuts[record.prompt_length - 2 - (record.round * 8 + 1)];
  }
  EXPECT_EQ(rounds.size(), 4u);
  EXPECT_EQ(cuts.size(), 4u);  // 0, 1, 2, 3 of 3 tokens
  for (const auto& counts : {rounds, cuts}) {
    for (const auto& [value, count] : counts) {
      EXPECT_THAT(value, AllOf(Ge(0), Le(3)));
      EXPECT_NEAR(count, kDraws / 4.0, 5 * 39) << value;  // five standard deviations
    }
  }
}

TEST(ExampleBuilder, APromptAloneIsCutAndHasNoTarget) {
  const FakeTokenizer tokenizer;
  const ExampleBuilder builder(tokenizer, "!");
  std::map<TokenIds, int> cuts;
  for (uint64_t row = 0; row < 100; ++row) {
    const Record record = builder.truncated(conversation({"abc"}), Random(1, "round", row));
    EXPECT_EQ(record.round, 0);
    EXPECT_EQ(record.prompt_length, std::ssize(record.tokens));
    EXPECT_EQ(record.loss_mask, std::vector<uint8_t>(record.tokens.size(), 0));
    ++cuts[record.tokens];
  }
  EXPECT_EQ(cuts.size(), 4u);
  EXPECT_TRUE(cuts.contains({FakeTokenizer::kSystem, '!', kE, kU, 'a', 'b', 'c', kE, kA}));
  EXPECT_TRUE(cuts.contains({FakeTokenizer::kSystem, '!', kE, kU, kE, kA}));
}

TEST(ExampleBuilder, WholeConversationMasksEveryAnswer) {
  const FakeTokenizer tokenizer;
  const ExampleBuilder builder(tokenizer, "none");
  const Record record = builder.whole(conversation({"a", "bc", "d", "e", "unanswered"}));
  EXPECT_EQ(record.tokens, (TokenIds{kU, 'a', kE, kA, 'b', 'c', kE, kU, 'd', kE, kA, 'e', kE}));
  EXPECT_EQ(record.loss_mask, (std::vector<uint8_t>{0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(record.prompt_length, 11);
  EXPECT_EQ(record.round, 1);
}

TEST(ExampleBuilder, QuestionsThatStandAloneShareWhatTheyBeginWith) {
  const FakeTokenizer tokenizer;
  const ExampleBuilder builder(tokenizer, "Be brief.");
  const CorpusConversation source = conversation({"ax", "b", "ay", "cd", "e", "f", "unanswered"});
  const Record record = builder.alone(source);
  const TokenIds shared =
      tokenizer.render_chat({{"system", "Be brief."}}, /*add_generation_prompt=*/false);
  TokenIds expected = shared;
  expected.push_back(kU);
  const std::vector<TokenIds> questions{
      {'a', 'x', kE, kA, 'b', kE}, {'a', 'y', kE, kA, 'c', 'd', kE}, {'e', kE, kA, 'f', kE}};
  std::vector<int64_t> branches;
  for (const TokenIds& question : questions) {
    branches.push_back(std::ssize(expected));
    expected.insert(expected.end(), question.begin(), question.end());
  }
  EXPECT_EQ(record.tokens, expected);
  EXPECT_EQ(record.branches, branches);
  EXPECT_EQ(masked(record), (TokenIds{'b', kE, 'c', 'd', kE, 'f', kE}));
  EXPECT_EQ(record.prompt_length, std::ssize(expected) - 2);
  EXPECT_EQ(record.round, 2);
}

TEST(ExampleBuilder, OneQuestionAloneIsTheWhole) {
  const FakeTokenizer tokenizer;
  const ExampleBuilder builder(tokenizer, "none");
  const CorpusConversation source = conversation({"a", "b"});
  EXPECT_EQ(builder.alone(source).tokens, builder.whole(source).tokens);
  EXPECT_TRUE(builder.alone(source).branches.empty());
}

TEST(ExampleBuilder, TheSameQuestionTwiceBranchesBeforeItsAnswer) {
  const FakeTokenizer tokenizer;
  const Record record = ExampleBuilder(tokenizer, "none").alone(conversation({"q", "a", "q", "b"}));
  EXPECT_EQ(record.tokens, (TokenIds{kU, 'q', kE, kA, 'a', kE, kA, 'b', kE}));
  EXPECT_EQ(record.branches, (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(masked(record), (TokenIds{'a', kE, 'b', kE}));
}

/// A question, a call, its result and the answer; then a call whose result is not there.
CorpusConversation with_calls() {
  const ToolCall call{.id = "", .name = "f", .arguments = "{}"};
  CorpusConversation result = conversation({"q", "", "r", "a", "p", ""});
  result.messages[1].tool_calls = result.messages[5].tool_calls = {call};
  result.messages[2].role = "tool";
  result.tools = {.json = "t", .names = {"f"}};
  return result;
}

TEST(ExampleBuilder, CallsAreTargetsAsTheTemplateWritesThem) {
  const FakeTokenizer tokenizer;
  const CorpusConversation source = with_calls();
  ASSERT_EQ(check_conversation(source, {}, ExampleLaw::kWhole), std::nullopt);
  const Record record = ExampleBuilder(tokenizer, "none").whole(source);
  EXPECT_EQ(record.tokens,
            tokenizer.render_chat(source.messages, /*add_generation_prompt=*/false, source.tools));
  TokenIds call = tokenizer.render_chat({source.messages[5]}, /*add_generation_prompt=*/false);
  call.erase(call.begin());  // who speaks
  TokenIds expected = call;
  for (const TokenId token : {TokenId{'a'}, kE}) expected.push_back(token);
  expected.insert(expected.end(), call.begin(), call.end());
  EXPECT_EQ(masked(record), expected);
  EXPECT_EQ(record.round, 2);
  const Record alone = ExampleBuilder(tokenizer, "none").alone(source);
  EXPECT_EQ(masked(alone), expected);
  EXPECT_EQ(alone.branches.size(), 2u);  // a result goes on with its question
}

TEST(ExampleBuilder, AnswersAreEncodedApartFromWhatComesBefore) {
  // "ab" is one token, but only where the answer alone is encoded.
  const FakeTokenizer tokenizer({"ab"});
  const ExampleBuilder builder(tokenizer, "none");
  const Record record = builder.whole(conversation({"q", "ab"}));
  EXPECT_EQ(masked(record), (TokenIds{FakeTokenizer::kFirstWord, kE}));
}

TEST(ExampleBuilder, SystemPrompts) {
  const FakeTokenizer tokenizer;
  const auto first = [&](const std::string& system) {
    const Record record = ExampleBuilder(tokenizer, system).whole(conversation({"q", "a"}));
    return tokenizer.decode(record.tokens, true);
  };
  EXPECT_EQ(first("none").find("<user>"), 0u);
  EXPECT_EQ(first("Be brief.").find("<system>Be brief.<end><user>"), 0u);
  EXPECT_EQ(first("table3").find("<system>The instruction provided by the user may be truncated."),
            0u);
}

/// As Mistral's templates: the system message goes to the last user message, and nowhere if an
/// answer follows.
class MovingTokenizer : public FakeTokenizer {
 public:
  TokenIds render_chat(const std::vector<Message>& messages, bool prompt, const ToolSet& tools,
                       const std::string& variables) const override {
    std::vector<Message> moved(messages.begin() + 1, messages.end());
    if (moved.back().role == "user") moved.back().content.insert(0, messages.front().content);
    return FakeTokenizer::render_chat(moved, prompt, tools, variables);
  }
};

class EndlessTokenizer : public FakeTokenizer {
 public:
  std::optional<TokenId> answer_end() const override { return std::nullopt; }
};

TEST(ExampleBuilder, TemplatesThatChangeTheirHistory) {
  const MovingTokenizer moving;
  const ExampleBuilder builder(moving, "!");
  const CorpusConversation one = conversation({"ab", "cd"});
  EXPECT_EQ(builder.whole(one).tokens, (TokenIds{kU, '!', 'a', 'b', kE, kA, 'c', 'd', kE}));
  expect_user_error(
      [&] {
        builder.whole(conversation({"ab", "cd", "ef", "gh"}));
      },
      {"chat template", "truncated"});
  const EndlessTokenizer endless;
  expect_user_error([&] { ExampleBuilder(endless, "none").whole(one); }, {"chat template"});
}

TEST(CheckConversation, NamesTheRule) {
  const FilterConfig none;
  constexpr ExampleLaw kCut = ExampleLaw::kTruncated, kWhole = ExampleLaw::kWhole;
  EXPECT_EQ(check_conversation(conversation({"q", "a"}), none, kCut), std::nullopt);
  EXPECT_EQ(check_conversation(conversation({}), none, kCut), Drop::kEmptyConversation);
  EXPECT_EQ(check_conversation(conversation({"q"}), none, kCut), std::nullopt);
  EXPECT_EQ(check_conversation(conversation({"q"}), none, kWhole), Drop::kNoAnswer);
  EXPECT_EQ(check_conversation(conversation({"q", " \n"}), none, kCut), Drop::kEmptyMessage);
  EXPECT_EQ(check_conversation(with_calls(), none, kCut), Drop::kToolCalls);
  CorpusConversation unasked = with_calls();
  unasked.messages[1] = {.role = "assistant", .content = "no call"};
  EXPECT_EQ(check_conversation(unasked, none, kWhole), Drop::kWrongRoles);
  CorpusConversation backwards = conversation({"q", "a"});
  std::swap(backwards.messages[0].role, backwards.messages[1].role);
  EXPECT_EQ(check_conversation(backwards, none, kCut), Drop::kWrongRoles);

  FilterConfig strict;
  strict.languages = {"English"};
  strict.drop_redacted = strict.drop_flagged = true;
  strict.min_turns = 2;
  CorpusConversation good = conversation({"q", "a", "q", "a"});
  EXPECT_EQ(check_conversation(good, strict, kCut), std::nullopt);
  EXPECT_EQ(check_conversation(conversation({"q", "a"}), strict, kCut), Drop::kMinTurns);
  EXPECT_EQ(check_conversation(conversation({"q"}), strict, kCut), Drop::kMinTurns);
  CorpusConversation bad = good;
  bad.language = "German";
  EXPECT_EQ(check_conversation(bad, strict, kCut), Drop::kLanguage);
  bad.language = "";
  EXPECT_EQ(check_conversation(bad, strict, kCut), Drop::kNoLanguage);
  bad = good;
  bad.redacted = true;
  EXPECT_EQ(check_conversation(bad, strict, kCut), Drop::kRedacted);
  bad = good;
  bad.flagged = true;
  EXPECT_EQ(check_conversation(bad, strict, kCut), Drop::kFlagged);
}

}  // namespace
}  // namespace predgen::data
