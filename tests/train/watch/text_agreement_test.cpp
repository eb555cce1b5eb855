#include "train/watch/text_agreement.h"

#include <gtest/gtest.h>

namespace predgen::train {
namespace {

double agreement(const TokenIds& a, const TokenIds& b) {
  EXPECT_EQ(text_agreement(a, b), text_agreement(b, a));
  return text_agreement(a, b);
}

TEST(TextAgreement, CountsTheFewestEdits) {
  EXPECT_EQ(agreement({1, 2, 3, 4}, {1, 2, 3, 4}), 1.0);
  EXPECT_EQ(agreement({1, 2, 3, 4}, {1, 9, 3, 4}), 0.75);  // replaced
  EXPECT_EQ(agreement({1, 2, 3, 4}, {2, 3, 4}), 0.75);     // what follows is not lost
  EXPECT_EQ(agreement({1, 2, 3, 4, 5}, {1, 3, 4, 9, 5}), 0.6);
  EXPECT_EQ(agreement({1, 2}, {3, 4}), 0.0);
  EXPECT_EQ(agreement({1, 2}, {}), 0.0);
  EXPECT_EQ(agreement({}, {}), 1.0);
}

}  // namespace
}  // namespace predgen::train
