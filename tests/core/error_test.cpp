#include "core/error.h"

#include <gmock/gmock.h>

namespace predgen {
namespace {

TEST(Error, FormatsAndKeepsBraces) {
  EXPECT_STREQ(UserError("{}: bad {}", "file", 3).what(), "file: bad 3");
  EXPECT_STREQ(UserError(std::string("a {} b")).what(), "a {} b");
}

TEST(Error, AUserErrorIsAnError) { EXPECT_THROW(throw UserError("x {}", 1), Error); }

TEST(Check, ThrowsWithConditionAndPlaceOnlyWhenFalse) {
  EXPECT_NO_THROW(PREDGEN_CHECK(1 + 1 == 2, "arithmetic"));
  try {
    PREDGEN_CHECK(1 + 1 == 3, "wanted {}", 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("wanted 3"));
    EXPECT_THAT(error.what(), testing::HasSubstr("error_test.cpp"));
    EXPECT_THAT(error.what(), testing::HasSubstr("1 + 1 == 3"));
    EXPECT_EQ(dynamic_cast<const UserError*>(&error), nullptr);
  }
}

}  // namespace
}  // namespace predgen
