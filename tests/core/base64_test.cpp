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

TEST(Base64, IsReadAsOthersWriteIt) {
  EXPECT_EQ(from_base64("Zg"), "f");
  EXPECT_EQ(from_base64("Zg="), "f");
  EXPECT_EQ(from_base64("Zm8"), "fo");
  EXPECT_EQ(from_base64("Zm9v\r\nYg==\n"), "foob");
  EXPECT_EQ(from_base64(" Zm 9v"), "foo");
  EXPECT_EQ(from_base64("__79-w"), "\xff\xfe\xfd\xfb");
}

TEST(Base64, WhatIsNoneIsNotRead) {
  for (const char* text : {"Zm9vY", "Zh==", "Zm9=", "Z===", "====", "=",
                           "Zg==Zg==", "Zg===", "Zm9v=", "Zm!v", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace predgen
