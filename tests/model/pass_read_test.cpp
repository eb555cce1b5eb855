#include <gtest/gtest.h>

#include "model/language_model.h"

namespace predgen {
namespace {

TEST(PassRead, SaysThatAPassFailed) {
  EXPECT_EQ(read_pass([] { return 3; }), 3);
  const auto fail = []() -> int {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 700,
                                "CUDA error: an illegal memory access was encountered\nMore.");
  };
  try {
    read_pass(fail);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a pass failed on the GPU, which cannot go on: CUDA error: an illegal memory "
                 "access was encountered");
  }
}

}  // namespace
}  // namespace predgen
