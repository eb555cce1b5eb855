#include "runtime/generate/answer_constraint.h"

#include <gtest/gtest.h>

#include "runtime/generate/make_generator.h"
#include "runtime/generate/sequence_pass.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/pass_table.h"
#include "tests/fakes/token_language.h"

namespace predgen {
namespace {

const TokenIds kEnds{3};
// Of forms(): "qrst", "k", "ab", ",", "uv", "k", "ka".
constexpr TokenId kQ = 13, kR = 14, kS = 15, kT = 16, kK = 25, kAb = 6, kComma = 11, kUv = 20,
                  kU = 18, kV = 19, kKa = 26, kSemicolon = 12;
const TokenIds kBegin{kQ, kR, kS, kT};

TokenIds joined(TokenIds tokens, const TokenIds& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

TEST(AnswerConstraint, AllowsWhatTheLanguageDoes) {
  const auto constraint = answers_in(forms(), kEnds);
  const auto start = constraint->after({});
  EXPECT_EQ(start->allowed().count(), 1);
  EXPECT_TRUE(start->allowed().contains(kQ));
  EXPECT_EQ(start->next(kAb), nullptr);
  EXPECT_EQ(constraint->after(TokenIds{kQ, kR, kR}), nullptr);
  EXPECT_EQ(constraint->after(TokenIds{kQ, kR, kR, kS}), nullptr);
  EXPECT_EQ(start->next(-1), nullptr);
  EXPECT_EQ(start->next(31), nullptr);
  const auto letters = constraint->after(joined(kBegin, {kKa}));
  EXPECT_TRUE(letters->allowed().contains(kAb));
  EXPECT_FALSE(letters->allowed().contains(kK));
}

TEST(AnswerConstraint, AllowsTheEndWhereATextMayEnd) {
  const auto constraint = answers_in(forms(), kEnds);
  EXPECT_EQ(constraint->after(kEnds), nullptr);
  EXPECT_FALSE(constraint->after({})->allowed().contains(3));
  const auto letters = constraint->after(joined(kBegin, {kKa}));
  EXPECT_TRUE(letters->allowed().contains(3));
  const auto ended = letters->next(3);
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->allowed().count(), 0);
  EXPECT_EQ(ended->next(kAb), nullptr);
  EXPECT_EQ(ended, constraint->after(joined(kBegin, {kKa, 3})));
}

TEST(AnswerConstraint, ForcesTokensAndTheEnd) {
  const auto constraint = answers_in(forms(), kEnds);
  EXPECT_EQ(constraint->after({})->forced(99), joined(kBegin, {kK}));
  EXPECT_EQ(constraint->after({})->forced(3), (TokenIds{kQ, kR, kS}));
  EXPECT_TRUE(constraint->after({})->forced(0).empty());
  const TokenIds fields = joined(kBegin, {kKa});
  EXPECT_TRUE(constraint->after(fields)->forced(9).empty());
  EXPECT_EQ(constraint->after(joined(fields, {kComma}))->forced(9), (TokenIds{kUv, kK}));
  EXPECT_EQ(constraint->after(joined(fields, {kComma, kU}))->forced(9), (TokenIds{kV, kK}));
  EXPECT_EQ(constraint->after(joined(fields, {kSemicolon}))->forced(9),
            (TokenIds{21, 22, 23, 24, 3}));
  EXPECT_EQ(constraint->after(joined(fields, {kSemicolon}))->forced(4).size(), 4u);
  // Without a token that ends an answer it is a dead end.
  const auto endless = answers_in(forms(), {});
  EXPECT_EQ(endless->after(joined(fields, {kSemicolon}))->forced(9), (TokenIds{21, 22, 23, 24}));
  EXPECT_EQ(endless->after(joined(fields, {kSemicolon, 21, 22, 23, 24}))->allowed().count(), 0);
}

TEST(AnswerConstraint, MakesEachPlaceAndItsSetOnce) {
  const auto language = forms();
  const auto constraint = answers_in(language, kEnds);
  const TokenIds draft = joined(kBegin, {kKa, kAb, kComma, kUv, kKa});
  const auto visit = [&](const TokenIds& answer) {
    EXPECT_EQ(count_allowed(constraint->after({}), answer), std::ssize(answer));
    for (const auto& place : places_along(constraint->after({}), answer)) place->allowed();
    constraint->after(answer)->allowed();
  };
  visit(draft);
  const int64_t num_forks = language->num_forks;
  EXPECT_EQ(num_forks, 1 + std::ssize(draft));
  EXPECT_EQ(language->num_sets, 1 + std::ssize(draft));
  visit(draft);
  visit(TokenIds(draft.begin(), draft.begin() + 6));
  EXPECT_EQ(language->num_forks, num_forks);
  TokenIds other = draft;
  other.back() = kK;
  visit(other);
  EXPECT_EQ(language->num_forks, num_forks + 1);
  EXPECT_EQ(language->num_sets, 2 + std::ssize(draft));
}

TEST(AnswerConstraint, ForgetsPlacesOfLongAnswers) {
  const auto language = forms(/*endless=*/true);
  const auto constraint = answers_in(language, {});
  TokenIds answer = joined(kBegin, {kK});
  for (int i = 0; i < 400; ++i) {
    answer.push_back(kAb);
    const auto place = constraint->after(answer);
    ASSERT_NE(place, nullptr);
    ASSERT_EQ(place->allowed().count(), answers_in(language, {})->after(answer)->allowed().count());
  }
  language->num_forks = 0;
  EXPECT_NE(constraint->after(joined(answer, {kComma})), nullptr);
  EXPECT_LE(language->num_forks, 1);
  EXPECT_EQ(constraint->after(joined(answer, {kComma, kK})), nullptr);
  EXPECT_EQ(constraint->after(kBegin)->allowed().count(), 2);  // "k" and "ka"
  EXPECT_EQ(constraint->after({})->allowed().count(), 1);
}

TEST(AnswerConstraint, TellsTheLikeliestOfTheAllowed) {
  const auto constraint = answers_in(forms(), kEnds);
  const auto letters = constraint->after(joined(kBegin, {kKa})), start = constraint->after({});
  at::Tensor logits_NV = at::zeros({4, 40});  // a padded vocabulary
  for (int64_t row = 0; row < 4; ++row) logits_NV[row][35] = 9;
  logits_NV[0][kAb] = 5;
  const std::vector<AnswerConstraint::PlacePtr> places{letters, letters, nullptr, start};
  EXPECT_EQ(likeliest_allowed(logits_NV, places), (TokenIds{kAb, 0, kNoToken, kQ}));
  const at::Tensor allowed_NV = allowed_logits(logits_NV, places);
  EXPECT_EQ(allowed_NV[0][kAb].item<float>(), 5);
  EXPECT_EQ(allowed_NV.isfinite().sum(-1)[3].item<int64_t>(), 1);
  EXPECT_EQ(allowed_NV.isfinite().sum(-1)[2].item<int64_t>(), 0);
  EXPECT_EQ(logits_NV[3][35].item<float>(), 9);
  EXPECT_EQ(allowed_tokens(letters, 40, at::kCPU).sum().item<int64_t>(),
            letters->allowed().count());
  EXPECT_EQ(allowed_tokens(letters, 2, at::kCPU).sum().item<int64_t>(), 2);
  logits_NV[1][kAb] = logits_NV[0][kComma] = 7;
  EXPECT_EQ(likeliest_path(logits_NV, letters), (TokenIds{kComma, kU, kV, kK}));
}

TEST(AddForced, ContinuesEveryEnd) {
  const auto constraint = answers_in(forms(), kEnds);
  TokenTree tree;
  EXPECT_TRUE(add_forced(tree, nullptr, 99, 99).empty());
  EXPECT_EQ(add_forced(tree, constraint->after({}), 99, 99),
            (std::vector<int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(TokenIds(tree.tokens().begin(), tree.tokens().end()), joined(kBegin, {kK}));
  TokenTree two;
  two.add(TokenIds{kAb, kComma});
  two.add(TokenIds{kSemicolon});
  const auto letters = constraint->after(joined(kBegin, {kKa}));
  EXPECT_EQ(add_forced(two, letters, 4, 99), (std::vector<int64_t>{1, 3, 2, 5}));
  EXPECT_EQ(TokenIds(two.tokens().begin(), two.tokens().end()),
            (TokenIds{kAb, kComma, kSemicolon, kUv, kK, 21, 22}));
  TokenTree shallow;
  add_forced(shallow, constraint->after({}), 99, 2);
  EXPECT_EQ(shallow.size(), 2);
}

/// Of 40 random prompts, the answers that differ from what the definition gives.
int64_t count_wrong(const std::function<std::shared_ptr<AnswerConstraint>()>& make,
                    const TokenLanguage& language) {
  const FakeLanguageModel model({.memory = 1, .surprise = 3});
  int64_t wrong = 0;
  for (TokenId first = 0; first < 20; ++first) {
    for (const std::string& name : generator_names()) {
      Engine engine = borrowing_engine(model);
      const auto generator =
          make_generator({.name = name, .sources = {"ngram"}, .draft_width = 6}, engine);
      GenerationConfig config{.max_new_tokens = 30, .stop_tokens = kEnds, .answer_begin = 2};
      const TokenIds prompt{first, 5}, drafted = answer_within(language, model, {5, first}, config);
      config.constraint = make();
      Sequence sequence = sequence_of(engine, prompt, 512);
      try {
        generator->generate(sequence, {.next = drafted, .drafts = {&drafted, 1}}, config, {});
      } catch (const DeadEnd&) {
      }
      const TokenIds answer(sequence.tokens().begin() + 2, sequence.tokens().end());
      wrong += answer != answer_within(language, model, prompt, config);
    }
  }
  return wrong;
}

enum class LanguageFault { kNone, kForkedAtTheStart, kSharedState, kTooFew, kTooMany, kLateEnd };

class FaultyConstraint : public TokenConstraint {
 public:
  FaultyConstraint(std::shared_ptr<const TokenLanguage> language, LanguageFault fault)
      : language_(std::move(language)), fault_(fault) {}
  std::string name() const override { return "a faulty one"; }
  std::unique_ptr<TokenConstraint> fork() const override {
    auto copy = std::make_unique<FaultyConstraint>(*this);
    if (fault_ == LanguageFault::kForkedAtTheStart) copy->state_ = std::make_shared<size_t>(0);
    if (fault_ != LanguageFault::kSharedState)
      copy->state_ = std::make_shared<size_t>(*copy->state_);
    return copy;
  }
  bool accept(TokenId token) override {
    const auto next = language_->step(*state_, token);
    if (next) *state_ = *next;
    return next.has_value() || (fault_ == LanguageFault::kTooMany && token % 7 == 0);
  }
  bool may_end() const override {
    return fault_ == LanguageFault::kLateEnd ? *state_ == 4 : language_->may_end(*state_);
  }
  void insert_allowed(TokenSet& tokens) const override {
    for (const TokenId token : language_->allowed(*state_)) {
      if (fault_ != LanguageFault::kTooFew || token % 3 != 1) tokens.insert(token);
    }
  }
  TokenIds forced(int64_t most) const override { return language_->forced(*state_, most); }

 private:
  std::shared_ptr<const TokenLanguage> language_;
  LanguageFault fault_;
  std::shared_ptr<size_t> state_ = std::make_shared<size_t>(0);
};

TEST(AnswerConstraint, AFaultyConstraintIsNoticed) {
  const auto language = forms();
  const auto wrong_with = [&](LanguageFault fault) {
    return count_wrong(
        [&] {
          return std::make_shared<AnswerConstraint>(
              std::make_shared<FaultyConstraint>(language, fault), kEnds, 31);
        },
        *language);
  };
  EXPECT_EQ(wrong_with(LanguageFault::kNone), 0);
  for (const auto fault :
       {LanguageFault::kForkedAtTheStart, LanguageFault::kSharedState, LanguageFault::kTooFew,
        LanguageFault::kTooMany, LanguageFault::kLateEnd}) {
    EXPECT_GT(wrong_with(fault), 0) << static_cast<int>(fault);
  }
}

/// Six letters, and no way on.
std::shared_ptr<const TokenLanguage> dead_end() {
  Automaton automaton;
  size_t state = 0;
  for (int i = 0; i < 6; ++i) {
    const size_t next = automaton.add_state();
    for (const char* letter : {"a", "b", "c", "d", "e"}) automaton.add(state, letter, next);
    state = next;
  }
  return std::make_shared<TokenLanguage>(automaton,
                                         std::vector<std::string>{"a", "b", "c", "", "d", "e"});
}

TEST(Generators, SayWhereAConstraintIsADeadEnd) {
  const FakeLanguageModel model({});
  Engine draft = borrowing_engine(model);
  for (const GeneratorConfig& how :
       {GeneratorConfig{}, GeneratorConfig{.name = "jacobi", .block_size = 4},
        GeneratorConfig{
            .sources = {"ngram", "model"}, .costs = with_draft_cost(0.1), .draft_model = &draft}}) {
    Engine engine = borrowing_engine(model);
    const auto generator = make_generator(how, engine);
    const auto run = [&](int64_t limit, TokenIds& told) {
      Sequence sequence = sequence_of(engine, TokenIds{4, 5}, 64);
      return generator->generate(sequence, {},
                                 {.max_new_tokens = limit,
                                  .stop_tokens = kEnds,
                                  .constraint = answers_in(dead_end(), kEnds),
                                  .answer_begin = 2},
                                 [&](TokenSpan tokens) {
                                   told.insert(told.end(), tokens.begin(), tokens.end());
                                   return true;
                                 });
    };
    TokenIds told, within;
    expect_user_error([&] { run(9, told); },
                      {"the language of a test", "dead end", "6 tokens", "may follow"});
    EXPECT_EQ(told.size(), 6u) << how.name;  // what came before it is told
    EXPECT_EQ(run(6, within).stop_reason, StopReason::kMaxNewTokens);
    EXPECT_EQ(within, told);
  }
}

}  // namespace
}  // namespace predgen
