#include "core/text.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(Text, BlankIsWhiteSpaceOnly) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\r\n\v\f"));
  EXPECT_FALSE(is_blank(" x "));
  EXPECT_FALSE(is_blank("\xc2\xa0"));
}

}  // namespace
}  // namespace predgen
