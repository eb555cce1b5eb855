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

}  // namespace
}  // namespace predgen
