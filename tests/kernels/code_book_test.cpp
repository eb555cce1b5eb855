#include "kernels/code_book.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/code_books.h"

namespace predgen {
namespace {

TEST(CodeBook, WholeNumbersTakeOneByte) {
  for (const CodeValues& values : {kIq4Values, kDoubledFp4, CodeValues{-128, 127}, CodeValues{}}) {
    const CodeBook book(values);
    EXPECT_EQ(book.num_bytes, 1);
    EXPECT_EQ(book.unit, 1.0f);
    for (int code = 0; code < 16; ++code) EXPECT_EQ(book.value(code), values[code]) << code;
  }
  EXPECT_EQ(CodeBook(CodeValues{128}).num_bytes, 2);
}

TEST(CodeBook, TwelfthsOfAFloatAreExact) {
  const CodeBook book(kFp4Values);
  EXPECT_EQ(book.num_bytes, 2);
  for (int code = 0; code < 16; ++code) {
    EXPECT_NEAR(book.value(code), kFp4Values[code], 1e-7 * std::abs(kFp4Values[code])) << code;
  }
}

TEST(CodeBook, OthersAreRoundedFinerThanBfloat16) {
  const CodeBook book(kNf4Values);
  for (int code = 0; code < 16; ++code) {
    const float value = kNf4Values[code];
    EXPECT_NEAR(book.value(code), value, 1.6e-5);
    EXPECT_NEAR(book.value(code), value, 1.4e-4 * std::abs(value)) << code;
  }
  EXPECT_EQ(book.value(7), 0.0f);
}

TEST(CodeBook, TheLargestMagnitudeFits) {
  for (const float size : {1e-6f, 0.3f, 1.0f, 1e6f}) {
    const CodeBook book(CodeValues{-size, size, size / 3, 0.0f});
    EXPECT_NEAR(book.value(0), -size, 1e-6 * size);
    EXPECT_NEAR(book.value(1), size, 1e-6 * size);
    EXPECT_NEAR(book.value(2), size / 3, 1e-6 * size);
    EXPECT_EQ(book.value(3), 0.0f);
  }
}

}  // namespace
}  // namespace predgen
