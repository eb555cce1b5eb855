#include "core/suggest.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

const std::vector<std::string> kValid{"learning_rate", "lora", "rank", "seed", "b", "batch_size"};

TEST(Suggest, FindsTheNearestWord) {
  EXPECT_EQ(suggest("learning-rate", kValid), "did you mean \"learning_rate\"?");
  EXPECT_EQ(suggest("learnin_rat", kValid), "did you mean \"learning_rate\"?");
  EXPECT_EQ(suggest("loar", kValid), "did you mean \"lora\"?");
  EXPECT_EQ(suggest("sede", {"used", "seed"}), "did you mean \"seed\"?") << "a swap is one step";
}

TEST(NearestWord, IsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_word("--modle", {"--prompt", "--model"}), "--model");
  EXPECT_EQ(nearest_word("--optimizer", {"--prompt", "--model"}), std::nullopt);
  EXPECT_EQ(nearest_word("x", {}), std::nullopt);
}

TEST(Suggest, NamesAllWordsWhenNoneIsNear) {
  EXPECT_EQ(suggest("optimizer", kValid),
            "valid here: learning_rate, lora, rank, seed, b, batch_size");
  EXPECT_EQ(suggest("x", {}), "nothing is read here");
}

TEST(Suggest, LooksForNothingNearAWordThatIsFarTooLong) {
  const std::string far(65, 'x');
  EXPECT_EQ(suggest(far, {far.substr(1)}), "valid here: " + far.substr(1));
  EXPECT_EQ(suggest(far.substr(1), {far}), "did you mean \"" + far + "\"?");
}

}  // namespace
}  // namespace predgen
