#include "runtime/serve/realtime/base64.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(Base64, IsThatOfRfc4648) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("\xff\xfe\xfd\xfb"), "//79+w==");
}

}  // namespace
}  // namespace predgen
