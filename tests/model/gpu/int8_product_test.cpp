// The kernel for 8-bit weights, run thread by thread on the CPU. tests/cuda has it on a GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/fakes/tensors.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

at::Tensor multiply(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales,
                    ThreadOrder order = ThreadOrder::kAscending) {
  at::Tensor y = at::full({x.size(0), values.size(0)}, 7, at::kBFloat16);
  emulated_kernels(order).int8_product({.x = x.const_data_ptr(),
                                        .values = values.const_data_ptr<int8_t>(),
                                        .scales = scales.const_data_ptr(),
                                        .y = y.mutable_data_ptr(),
                                        .rows = x.size(0),
                                        .in = x.size(1),
                                        .out = values.size(0)},
                                       nullptr);
  return y;
}

at::Tensor random_values(int64_t out, int64_t in) {
  return (normal({out, in}, 1) * 50).clamp(-127, 127).to(at::kChar);
}
at::Tensor random_scales(int64_t out) { return (normal({out}, 2).abs() * 0.01).to(at::kBFloat16); }
at::Tensor random_rows(int64_t rows, int64_t in) { return normal({rows, in}, 3).to(at::kBFloat16); }

TEST(Int8ProductKernel, IsExactButForRoundings) {
  // Less than a warp's 512 inputs, more, no multiple of a vector's 16; blocks that are not full.
  for (const auto& [out, in] : {std::pair{1, 16}, {9, 512}, {61, 112}, {20, 1040}, {17, 523}}) {
    const at::Tensor values = random_values(out, in), scales = random_scales(out);
    const at::Tensor wide = values.to(at::kDouble) * scales.to(at::kDouble).unsqueeze(1);
    for (const int64_t rows : {1, 2, 3, 5, 8, 9, 19}) {
      SCOPED_TRACE(fmt::format("{} rows, {} x {}", rows, out, in));
      const at::Tensor x = random_rows(rows, in), y = multiply(x, values, scales);
      const at::Tensor exact = at::linear(x.to(at::kDouble), wide);
      const at::Tensor beyond = (y.to(at::kDouble) - exact).abs() - exact.abs() / 256;
      EXPECT_LT(beyond.max().item<double>(), 1e-4 * exact.abs().max().item<double>());
      EXPECT_TRUE(y.equal(multiply(x, values, scales, ThreadOrder::kDescending)));
    }
  }
}

TEST(Int8ProductKernel, ARowDoesNotDependOnTheOthersNorOnAddresses) {
  const at::Tensor values = random_values(40, 528), scales = random_scales(40);
  const at::Tensor x = random_rows(16, 528), all = multiply(x, values, scales);
  for (const int64_t rows : {1, 2, 3, 7, 12}) {
    EXPECT_TRUE(multiply(x.narrow(0, 3, rows), values, scales).equal(all.narrow(0, 3, rows)));
  }
  at::Tensor elsewhere = at::empty({16 * 528 + 1}, at::kBFloat16).narrow(0, 1, 16 * 528);
  elsewhere.copy_(x.view({-1}));
  EXPECT_TRUE(multiply(elsewhere.view({16, 528}), values, scales).equal(all));
}

}  // namespace
}  // namespace predgen
