// Products with weights in few bits and in bfloat16 on a GPU against exact arithmetic.
#include "model/gpu/gpu_matrix.h"

#include <fmt/format.h>

#include "model/gpu/gpu_product.h"
#include "model/gpu/gpu_support.h"
#include "model/quantized_weight.h"
#include "tests/cuda/on_device.h"
#include "tests/fakes/code_books.h"
#include "tests/model/gpu/block_matrix.h"
#include "tests/model/gpu/coded_gpu_matrix.h"

namespace predgen {
namespace {

class GpuMatrixOnDevice : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped() && group_kernels(device()) == nullptr) {
      GTEST_SKIP() << "built without nvcc, or a GPU of less than compute capability 8.0";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, GpuMatrixOnDevice, testing::Values("cuda"), device_name);

at::Tensor random_rows(int64_t rows, int64_t in) { return normal({rows, in}, 3).to(at::kBFloat16); }

struct Kind {
  int bits;
  int64_t out, in, group;
  bool has_offsets;
  std::optional<CodeValues> book = std::nullopt;
};

TEST_P(GpuMatrixOnDevice, ProductsAndMatricesAreExactButForRoundings) {
  for (const auto& [bits, out, in, group, has_offsets, book] :
       {Kind{4, 16, 32, 32, true}, Kind{4, 33, 96, 32, false}, Kind{4, 40, 80, 16, true},
        Kind{4, 896, 4864, 32, true}, Kind{4, 30'000, 64, 64, true}, Kind{4, 1536, 896, 128, true},
        Kind{8, 19, 48, 16, false}, Kind{8, 896, 4864, 16, false}, Kind{8, 21, 304, 304, false},
        Kind{8, 30'000, 96, 32, false}, Kind{8, 1536, 896, 896, false},
        Kind{4, 896, 4864, 32, false, kIq4Values}, Kind{4, 30'000, 96, 32, false, kIq4Values},
        Kind{4, 896, 4864, 64, false, kNf4Values}, Kind{4, 30'000, 144, 16, false, kNf4Values}}) {
    const CodedGpuMatrix coded(bits, out, in, group, has_offsets, 1, book);
    const GpuMatrix matrix = coded.on(device());
    const at::Tensor values = coded.values(), bias = normal({out}, 4).to(at::kBFloat16);
    EXPECT_LT(error_beyond_rounding(widen(group_kernels(device()), matrix), values), 1e-6);
    for (const int64_t rows : {1, 2, 8, 9, 16, 17, 32, 33, 64, 65, 128}) {
      SCOPED_TRACE(fmt::format("{} rows, {} bits, {} x {} by {}", rows, bits, out, in, group));
      const at::Tensor x = random_rows(rows, in);
      const at::Tensor exact = at::linear(x.to(at::kDouble), values) + bias.to(at::kDouble);
      const at::Tensor y =
          multiply(*group_kernels(device()), matrix, x.to(device()), bias.to(device()));
      EXPECT_LT(error_beyond_rounding(y, exact), 2e-5);
    }
  }
}

/// Of GGUF's types, with their bytes and, multiplied by unit vectors, their values.
TEST_P(GpuMatrixOnDevice, PlanesAreAsInTheFile) {
  for (const char* type : {"Q4_K", "Q5_K", "Q6_K", "Q5_0", "Q5_1", "MXFP4"}) {
    for (const auto& [out, in] : {std::pair<int64_t, int64_t>{896, 4864}, {17'008, 256}}) {
      SCOPED_TRACE(fmt::format("{} of {} x {}", type, out, in));
      const BlockMatrix stored(type, out, in);
      const QuantizedWeight weight(stored.type.layout, out, in, stored.reader(), device(), type);
      EXPECT_EQ(weight.num_bytes(), stored.num_bytes());
      EXPECT_EQ(QuantizedWeight::stored_bytes(stored.type.layout, out * in, device()),
                stored.num_bytes());
      const GpuMatrix matrix = stored.on(device());
      const auto run = [&](const at::Tensor& x) {
        return multiply(*group_kernels(device()), matrix, x.to(device()), {}, at::kFloat).cpu();
      };
      const at::Tensor values = stored.values();
      EXPECT_TRUE(widen(group_kernels(device()), matrix).cpu().equal(values.to(at::kBFloat16)));
      for (const int64_t rows : {1, 8, 16, 40, 72, 128}) {
        const at::Tensor units = at::eye(in).narrow(0, 100, rows).to(at::kBFloat16);
        EXPECT_TRUE(run(units).equal(values.narrow(1, 100, rows).t())) << rows;
        const at::Tensor x = random_rows(rows, in), y = run(x);
        const at::Tensor exact = at::linear(x.to(at::kDouble), values.to(at::kDouble));
        EXPECT_LT(relative(y.to(at::kDouble), exact), 1e-5) << rows;
        EXPECT_TRUE(run(x.narrow(0, rows / 2, 1)).equal(y.narrow(0, rows / 2, 1))) << rows;
      }
    }
  }
}

TEST_P(GpuMatrixOnDevice, ARowDoesNotDependOnTheOthers) {
  for (const int bits : {4, 8}) {
    const GpuMatrix matrix = CodedGpuMatrix(bits, 17'000, 960, 32, bits == 4).on(device());
    const at::Tensor x = random_rows(128, 960).to(device());
    const at::Tensor all = multiply(*group_kernels(device()), matrix, x, {});
    for (const int64_t rows : {1, 3, 8, 12, 16, 31, 64, 100}) {
      const at::Tensor some = multiply(*group_kernels(device()), matrix, x.narrow(0, 5, rows), {});
      EXPECT_TRUE(at::equal(some, all.narrow(0, 5, rows))) << rows;
      EXPECT_TRUE(
          at::equal(some, multiply(*group_kernels(device()), matrix, x.narrow(0, 5, rows), {})));
    }
  }
}

/// Of the shapes of a 0.5B model's layers and head, and one with ends that are not full.
TEST_P(GpuMatrixOnDevice, ProductsOfBfloat16AreExactAndOfOneMode) {
  for (const auto& [out, in] :
       {std::pair<int64_t, int64_t>{1152, 896}, {896, 4864}, {30'000, 896}, {33, 1096}}) {
    const at::Tensor weight = normal({out, in}, 1).to(at::kBFloat16).to(device());
    const at::Tensor counters = counters_for(out, device());
    const at::Tensor x = random_rows(300, in).to(device());
    const auto run = [&](int64_t begin, int64_t rows, int splits = 0) {
      return multiply_bfloat16(*group_kernels(device()), weight, counters, x.narrow(0, begin, rows),
                               {}, at::kFloat, splits);
    };
    const at::Tensor all = run(0, 300);
    EXPECT_LT(relative(all.cpu().to(at::kDouble),
                       at::linear(x.cpu().to(at::kDouble), weight.cpu().to(at::kDouble))),
              1e-5);
    for (const int64_t rows : {1, 3, 8, 12, 24, 40, 72, 100}) {
      for (const int splits : {1, 4, 8}) {
        EXPECT_TRUE(at::equal(run(150, rows, splits), all.narrow(0, 150, rows)))
            << rows << " rows, " << splits << " splits";
      }
    }
  }
}

TEST_P(GpuMatrixOnDevice, NaNStaysInItsRow) {
  const GpuMatrix matrix = CodedGpuMatrix(4, 48, 640, 32, true).on(device());
  at::Tensor x = random_rows(20, 640);
  x[19][639] = std::nan("");
  const at::Tensor y = multiply(*group_kernels(device()), matrix, x.to(device()), {}).cpu();
  EXPECT_FALSE(y.narrow(0, 0, 19).isnan().any().item<bool>());
  EXPECT_TRUE(y[19].isnan().all().item<bool>());
}

}  // namespace
}  // namespace predgen
