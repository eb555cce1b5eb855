#include <gtest/gtest.h>

#include "serve/http/http.h"

namespace predgen::serve {
namespace {

TEST(Url, CodesAreDecodedAndOthersStay) {
  EXPECT_EQ(percent_decoded("a%2Fb%20c"), "a/b c");
  EXPECT_EQ(percent_decoded("%C3%a9"), "\u00e9");
  EXPECT_EQ(percent_decoded("100%"), "100%");
  EXPECT_EQ(percent_decoded("%zz%4"), "%zz%4");
}

TEST(Url, APathHasSingleSlashesAndNoneAtItsEnd) {
  EXPECT_EQ(plain_path("/v1/models"), "/v1/models");
  EXPECT_EQ(plain_path("//v1///models//"), "/v1/models");
  EXPECT_EQ(plain_path("/"), "/");
  EXPECT_EQ(plain_path("//"), "/");
  EXPECT_EQ(plain_path(""), "");
  EXPECT_EQ(plain_path("/v1/models/org%2Fname%20x"), "/v1/models/org/name x");
}

}  // namespace
}  // namespace predgen::serve
