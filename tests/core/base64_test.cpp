#include "core/base64.h"

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

TEST(Base64, IsReadAsItIsWritten) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64, WhatIsNoneIsNotRead) {
  for (const char* text : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n",
                           "Zm 9", "Zm-_", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace predgen
