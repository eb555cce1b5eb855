#include "model/configure_math.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(ConfigureMath, SumsOfProductsAreNeverNarrow) {
  at::Context& context = at::globalContext();
  context.setAllowBF16ReductionCuBLAS(true);
  context.setAllowFP16ReductionCuBLAS(true);
  configure_math();
  const auto wide = at::CuBLASReductionOption::DisallowReducedPrecisionAllowSplitK;
  EXPECT_EQ(context.allowBF16ReductionCuBLAS(), wide);
  EXPECT_EQ(context.allowFP16ReductionCuBLAS(), wide);
  EXPECT_FALSE(context.allowTF32CuDNN());
  EXPECT_FALSE(context.userEnabledCuDNNSDP());
}

}  // namespace
}  // namespace predgen
