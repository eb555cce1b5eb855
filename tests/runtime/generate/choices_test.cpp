#include "runtime/generate/choices.h"

#include <gtest/gtest.h>

#include "tests/fakes/token_language.h"

namespace predgen {
namespace {

using Path = std::vector<int64_t>;

/// Two ways on, 5 6 7 and 5 8 9; the most likely tokens: at first 5, after 5 an 8, after 6 a 7,
/// after 7 a 1, after 8 a 2, after 9 a 3.
struct Tree {
  Tree() {
    draft = tree.add(TokenIds{5, 6, 7});
    tree.add(TokenIds{5, 8, 9});
    const TokenIds likely{5, 8, 7, 1, 2, 3};
    for (size_t row = 0; row < likely.size(); ++row) {
      logits_NV[static_cast<int64_t>(row)][likely[row]] = 4;
    }
  }
  TokenTree tree;
  Path draft;
  at::Tensor logits_NV = at::zeros({6, 10});
  TokenIds before{1, 2};
};

TEST(Choices, FollowTheMostLikelyTokens) {
  const Tree on;
  const GenerationConfig config;
  const Choices choices(config, on.logits_NV, on.before, on.tree);
  EXPECT_EQ(choices.after({}), 5);
  EXPECT_EQ(choices.follow(), (Path{0, 3}));
  EXPECT_EQ(choices.found({0, 3}), (TokenIds{5, 8, 2}));
  EXPECT_EQ(choices.follow({0, 1}), (Path{0, 1, 2}));  // 6 was agreed on before
  EXPECT_EQ(choices.found({}), (TokenIds{5}));
  // After a wrong 6 of the draft come a 7 and after that a 1; another path guesses nothing.
  EXPECT_EQ(choices.guess_after({0}, on.draft), (TokenIds{7, 1}));
  EXPECT_TRUE(choices.guess_after({0, 3}, on.draft).empty());
  EXPECT_TRUE(choices.guess_after(on.draft, on.draft).empty());
}

TEST(Choices, WithASamplerTakeWhatItDrawsThere) {
  const Tree on;
  const auto sampler = std::make_shared<Sampler>(SamplingConfig{.temperature = 3});
  const GenerationConfig config{.sampler = sampler, .answer_begin = 1};
  const Choices choices(config, on.logits_NV, on.before, on.tree);
  EXPECT_EQ(choices.after({}), sampler->sample(on.logits_NV[0], TokenIds{1, 2}, 1));
  EXPECT_EQ(choices.after({0, 3}), sampler->sample(on.logits_NV[4], TokenIds{1, 2, 5, 8}, 1));
  const Path path = choices.follow();
  TokenIds tokens = on.before;
  for (const TokenId token : choices.found(path)) {
    const int64_t row = tokens.size() == 2 ? 0 : path[tokens.size() - 3] + 1;
    EXPECT_EQ(token, sampler->sample(on.logits_NV[row], tokens, 1));
    tokens.push_back(token);
  }
}

TEST(Choices, KeepToAConstraint) {
  // "5" or "6", then "7", "8" or nothing; a 1 ends it.
  Automaton automaton;
  const size_t one = automaton.add_state(), two = automaton.add_state();
  automaton.add(0, "5", one);
  automaton.add(0, "6", one);
  automaton.add(one, "7", two);
  automaton.add(one, "8", two);
  automaton.ends = {two};
  std::vector<std::string> texts;
  for (int i = 0; i < 10; ++i) texts.push_back(std::to_string(i));
  texts[1] = "";
  const auto language = std::make_shared<TokenLanguage>(automaton, texts);
  TokenTree tree;
  const Path draft = tree.add(TokenIds{5, 7, 1});
  tree.add(TokenIds{6, 8});
  at::Tensor logits_NV = at::zeros({6, 10});  // after 2, 5, 7, 1, 6, 8
  logits_NV[0][6] = logits_NV[1][9] = logits_NV[2][4] = logits_NV[4][7] = 4;
  logits_NV[1][8] = 3;
  const auto make = [&](std::shared_ptr<const Sampler> sampler) {
    return GenerationConfig{.stop_tokens = {1},
                            .sampler = std::move(sampler),
                            .constraint = answers_in(language, {1}),
                            .answer_begin = 1};
  };
  const TokenIds before{2};
  const GenerationConfig config = make(nullptr);
  const Choices choices(config, logits_NV, before, tree);
  EXPECT_EQ(choices.most_likely(), (TokenIds{6, 8, 1, kNoToken, 7, 1}));
  EXPECT_EQ(choices.follow(), (Path{3}));
  EXPECT_EQ(choices.found({3}), (TokenIds{6, 7}));
  EXPECT_EQ(choices.guess_after({}, draft), (TokenIds{8, 1}));
  EXPECT_EQ(choices.place_after({3}, 7)->forced(2), TokenIds{1});
  EXPECT_EQ(choices.place_after({}, 7), nullptr);
  const at::Tensor allowed_DV = choices.allowed_logits(3);
  EXPECT_TRUE(at::equal(allowed_DV.isfinite().sum(-1), at::tensor({2, 2, 1}, at::kLong)));

  std::set<TokenId> drawn;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const GenerationConfig sampled =
        make(std::make_shared<Sampler>(SamplingConfig{.temperature = 9, .seed = seed}));
    const Choices draws(sampled, logits_NV, before, tree);
    drawn.insert(draws.after({}));
    EXPECT_EQ(draws.after({0, 1}), 1);
    EXPECT_EQ(draws.after({0, 1, 2}), kNoToken);
  }
  EXPECT_EQ(drawn, (std::set<TokenId>{5, 6}));
}

TEST(Choices, KeepTheDistributionOfPlainSampling) {
  // Probabilities of the first two tokens, whichever way through the tree (or out of it) they take.
  Tree on;
  on.logits_NV = at::rand({6, 10}, at::detail::createCPUGenerator(3)) * 3;
  const at::Tensor first_V = on.logits_NV[0].softmax(-1), second_V = on.logits_NV[1].softmax(-1);
  constexpr int kDraws = 100'000;
  at::Tensor counts_VV = at::zeros({10, 11});
  auto counts = counts_VV.accessor<float, 2>();
  for (uint64_t answer = 0; answer < kDraws; ++answer) {
    const GenerationConfig config{.sampler = std::make_shared<Sampler>(SamplingConfig{}, answer),
                                  .answer_begin = 2};
    const Choices choices(config, on.logits_NV, on.before, on.tree);
    const TokenIds found = choices.found(choices.follow());
    ++counts[found[0]][found[0] == 5 ? found[1] : 10];  // only 5 has a second token in the tree
  }
  double chi_square = 0;
  int cells = 0;
  const auto compare = [&](double count, double probability) {
    const double expected = probability * kDraws;
    chi_square += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (int64_t token = 0; token < 10; ++token) {
    const double first = first_V[token].item<double>();
    if (token != 5) compare(counts[token][10], first);
    compare(counts[5][token], first_V[5].item<double>() * second_V[token].item<double>());
  }
  EXPECT_EQ(cells, 19);
  EXPECT_LT(chi_square, 42.3);  // 18 degrees of freedom: above it once in a thousand
}

}  // namespace
}  // namespace predgen
