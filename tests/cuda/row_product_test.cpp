// The kernel for 8-bit weights on a device against exact arithmetic.
#include "model/row_product.h"

#include <fmt/format.h>

#include "model/gpu/gpu_support.h"
#include "tests/cuda/on_device.h"

namespace predgen {
namespace {

class Int8ProductOnDevice : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (device().is_cuda() && !IsSkipped() && cuda_kernels() == nullptr) {
      GTEST_SKIP() << "built without nvcc";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, Int8ProductOnDevice, devices(), device_name);

struct Int8Weight {
  Int8Weight(int64_t out, int64_t in)
      : values((normal({out, in}, 1) * 50).clamp(-127, 127).to(at::kChar)),
        scales((normal({out}, 2).abs() * 0.01).to(at::kBFloat16)) {}
  at::Tensor exact(const at::Tensor& x) const {
    const at::Tensor wide = values.to(at::kDouble) * scales.to(at::kDouble).unsqueeze(1);
    return at::linear(x.to(at::kDouble), wide);
  }

  at::Tensor values, scales;  // on the CPU
};

at::Tensor random_rows(int64_t rows, int64_t in) { return normal({rows, in}, 3).to(at::kBFloat16); }

TEST_P(Int8ProductOnDevice, IsExactButForRoundings) {
  // Widths of less than a warp's 512 inputs, of many times them, and between; a head of many
  // outputs.
  for (const auto& [out, in] :
       {std::pair{1, 16}, {9, 512}, {61, 112}, {130, 528}, {896, 4864}, {30'000, 64}}) {
    const Int8Weight weight(out, in);
    const at::Tensor values = weight.values.to(device()), scales = weight.scales.to(device());
    for (const int64_t rows : {1, 2, 3, 4, 5, 8, 9, 16}) {
      SCOPED_TRACE(fmt::format("{} rows, {} x {}", rows, out, in));
      const at::Tensor x = random_rows(rows, in), exact = weight.exact(x);
      const at::Tensor y = int8_product(x.to(device()), values, scales);
      ASSERT_EQ(y.device().type(), device().type());
      ASSERT_EQ(y.sizes(), exact.sizes());
      const at::Tensor difference = (y.cpu().to(at::kDouble) - exact).abs() - exact.abs() / 256;
      EXPECT_LT(difference.max().item<double>(), 1e-4 * largest(exact));
    }
  }
}

TEST_P(Int8ProductOnDevice, ARowDoesNotDependOnTheOthersNorOnAddresses) {
  const Int8Weight weight(130, 944);
  const at::Tensor values = weight.values.to(device()), scales = weight.scales.to(device());
  const at::Tensor x = random_rows(16, 944).to(device()), all = int8_product(x, values, scales);
  for (const int64_t rows : {1, 2, 3, 7, 12}) {
    const at::Tensor some = int8_product(x.narrow(0, 3, rows), values, scales);
    EXPECT_TRUE(at::equal(some, all.narrow(0, 3, rows))) << rows;
  }
  const at::Tensor shifted = at::empty({16 * 944 + 1}, x.options()).narrow(0, 1, 16 * 944);
  shifted.copy_(x.flatten());
  EXPECT_TRUE(at::equal(int8_product(shifted.view({16, 944}), values, scales), all));
}

TEST_P(Int8ProductOnDevice, AnyNumberOfInputsAndNaN) {
  for (const int64_t in : {1, 20, 72, 1000}) {
    at::Tensor x = random_rows(2, in);
    const Int8Weight weight(24, in);
    x[1][in - 1] = std::nan("");
    const at::Tensor y =
        int8_product(x.to(device()), weight.values.to(device()), weight.scales.to(device())).cpu();
    const at::Tensor exact = weight.exact(x)[0];
    EXPECT_LE(largest(y[0].to(at::kDouble) - exact), 0.004 * largest(exact) + 1e-6) << in;
    EXPECT_TRUE(y[1].isnan().all().item<bool>()) << in;
  }
}

}  // namespace
}  // namespace predgen
