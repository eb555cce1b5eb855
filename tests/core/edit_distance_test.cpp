#include "core/edit_distance.h"

#include <gtest/gtest.h>

#include <string>

namespace predgen {
namespace {

int64_t edits(const std::string& from, const std::string& to) { return edit_distance(from, to); }

TEST(EditDistance, CountsWhatIsPutInLeftOutOrReplaced) {
  EXPECT_EQ(edits("", ""), 0);
  EXPECT_EQ(edits("abc", "abc"), 0);
  EXPECT_EQ(edits("", "abc"), 3);
  EXPECT_EQ(edits("abc", ""), 3);
  EXPECT_EQ(edits("abc", "axc"), 1);
  EXPECT_EQ(edits("abc", "bc"), 1);
  EXPECT_EQ(edits("bc", "abc"), 1);
  EXPECT_EQ(edits("ab", "ba"), 2);
  EXPECT_EQ(edits("kitten", "sitting"), 3);
}

TEST(EditDistance, IsThatOfAnySequence) {
  EXPECT_EQ(edit_distance(std::vector<std::string>{"a", "b"}, {"a", "c", "b"}), 1);
}

TEST(EditDistance, IsThatToEachBeginning) {
  EXPECT_EQ(edits_to_beginnings(std::string("bc"), std::string("abc")),
            (std::vector<int64_t>{2, 2, 2, 1}));
}

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
