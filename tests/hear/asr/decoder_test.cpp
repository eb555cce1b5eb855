#include "hear/asr/decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace predgen::ears {
namespace {

constexpr int64_t kEnd = 7;
const std::vector<int64_t> kPrompt{100, 101, 102};

/// What follows depends on all that was before; keeps what it was given, as a decoder's cache does.
struct Model {
  uint64_t seed = 0;
  std::vector<int64_t> given{};
  int num_passes = 0;

  int64_t after(std::span<const int64_t> all) const {
    uint64_t sum = seed;
    for (const int64_t token : all)
      sum = (sum + static_cast<uint64_t>(token)) * 6364136223846793005;
    return static_cast<int64_t>((sum >> 40) % 9);
  }
  std::vector<int64_t> operator()(std::span<const int64_t> tokens, int64_t offset) {
    ++num_passes;
    EXPECT_LE(offset, std::ssize(given));
    given.resize(static_cast<size_t>(offset));
    std::vector<int64_t> next;
    for (const int64_t token : tokens) {
      given.push_back(token);
      next.push_back(after(given));
    }
    return next;
  }
};

struct Decoding {
  std::vector<int64_t> text;
  int num_passes;
};

Decoding run(uint64_t seed, const std::vector<int64_t>& draft, int64_t most = 20) {
  Model model{seed};
  const std::vector<int64_t> text =
      decode_drafted(std::ref(model), kPrompt, draft, {.end = kEnd, .most = most});
  return {text, model.num_passes};
}

/// One token at a time.
std::vector<int64_t> plain(uint64_t seed, int64_t most = 20) {
  const Model model{seed};
  std::vector<int64_t> all = kPrompt;
  while (std::ssize(all) < std::ssize(kPrompt) + most) {
    const int64_t token = model.after(all);
    if (token == kEnd) break;
    all.push_back(token);
  }
  return {all.begin() + std::ssize(kPrompt), all.end()};
}

TEST(DraftedTokens, WithoutADraftThereIsAPassForEachTokenAndTheEnd) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Decoding found = run(seed, {});
    EXPECT_EQ(found.text, plain(seed));
    const bool has_end = found.text.size() < 20;
    EXPECT_EQ(found.num_passes, std::ssize(found.text) + (has_end ? 1 : 0));
  }
}

TEST(DraftedTokens, ADraftThatHoldsTakesOnePass) {
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(run(seed, plain(seed)).num_passes, 1) << seed;
}

TEST(DraftedTokens, NoDraftChangesTheText) {
  std::mt19937_64 random(1);
  int64_t num_passes = 0, num_plain = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const std::vector<int64_t> expected = plain(seed);
    std::vector<int64_t> draft = expected;
    for (int64_t& token : draft) {
      if (random() % 5 == 0) token = static_cast<int64_t>(random() % 9);
    }
    draft.resize(random() % 30, static_cast<int64_t>(random() % 9));
    const Decoding found = run(seed, draft);
    EXPECT_EQ(found.text, expected) << seed;
    num_passes += found.num_passes;
    num_plain += std::ssize(expected) + 1;
  }
  EXPECT_LT(num_passes * 5, num_plain * 4) << num_passes << " of " << num_plain;
}

TEST(DraftedTokens, TheTextHasNoMoreTokensThanItMay) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (const int64_t most : {0, 1, 2, 5}) {
      EXPECT_EQ(run(seed, plain(seed), most).text, plain(seed, most)) << seed << " " << most;
      EXPECT_EQ(run(seed, {}, most).text, plain(seed, most)) << seed << " " << most;
    }
  }
}

/// Says 1, 2, 3, .. and the end behind 9.
std::vector<int64_t> count(std::span<const int64_t> tokens, int64_t) {
  std::vector<int64_t> next;
  for (const int64_t token : tokens)
    next.push_back(token >= 100 ? 1 : token == 9 ? kEnd + 100 : token + 1);
  return next;
}

TEST(DraftedTokens, WhatIsLeftOfADraftGoesOnBehindATokenThatItLacked) {
  const auto passes_with = [](const std::vector<int64_t>& draft) {
    int passes = 0;
    const auto counted = [&](std::span<const int64_t> tokens, int64_t offset) {
      ++passes;
      return count(tokens, offset);
    };
    EXPECT_EQ(decode_drafted(counted, kPrompt, draft, {.end = kEnd + 100, .most = 20}),
              (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    return passes;
  };
  EXPECT_EQ(passes_with({1, 2, 3, 4, 5, 6, 7, 8, 9}), 1);
  EXPECT_EQ(passes_with({1, 2, 55, 4, 5, 6, 7, 8, 9}), 2) << "another one in its place";
  EXPECT_EQ(passes_with({1, 2, 55, 56, 3, 4, 5, 6, 7, 8, 9}), 2) << "some before it";
  EXPECT_EQ(passes_with({}), 10);
}

TEST(DraftedTokens, WhoKnowsTheTextSaysWhatIsLeftOfTheDraft) {
  std::vector<std::vector<int64_t>> asked;
  const auto rest = [&](std::span<const int64_t> text) -> std::vector<int64_t> {
    asked.emplace_back(text.begin(), text.end());
    return {text.back() + 1, text.back() + 2, 55};
  };
  EXPECT_EQ(decode_drafted(count, kPrompt, {1, 55}, {.end = kEnd + 100, .most = 7}, rest),
            (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(asked, (std::vector<std::vector<int64_t>>{{1, 2}, {1, 2, 3, 4, 5}}));
}

TEST(DraftedTokens, ACertaintyIsTheProbabilityOfTheLikeliest) {
  const std::vector<float> logits{0, 0, 0, 0, 5, std::log(3.0f), 0, -100, -100, -100};
  const std::vector<double> found = certainties_of_rows(logits, 5);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], std::exp(5) / (std::exp(5) + 4), 1e-6);
  EXPECT_NEAR(found[1], 0.75, 1e-6);
}

}  // namespace
}  // namespace predgen::ears
