// Products with weights in few bits, the kernels run thread by thread on the CPU. tests/cuda has
// them on a GPU.
#include "model/gpu/gpu_matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "model/gpu/gpu_product.h"
#include "tests/fakes/code_books.h"
#include "tests/model/gpu/coded_gpu_matrix.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

constexpr auto kAscending = ThreadOrder::kAscending, kDescending = ThreadOrder::kDescending;

at::Tensor product(const GpuMatrix& matrix, const at::Tensor& x, ThreadOrder order = kAscending,
                   const at::Tensor& bias = {}) {
  return multiply(emulated_kernels(order), matrix, x, bias);
}

at::Tensor random_rows(int64_t rows, int64_t in) { return normal({rows, in}, 3).to(at::kBFloat16); }

struct MatrixKind {
  int bits;
  int64_t out, in, group;
  bool has_offsets;
  std::optional<CodeValues> book = std::nullopt;

  CodedGpuMatrix coded() const { return {bits, out, in, group, has_offsets, 1, book}; }
};

// Panels and chunks that are not full, fewer chunks than warps and many more, every size of groups.
const std::vector<MatrixKind> kMatrixKinds{{4, 16, 32, 32, true},
                                           {4, 33, 96, 32, false},
                                           {4, 40, 80, 16, true},
                                           {4, 16, 1088, 16, false},
                                           {4, 24, 640, 64, true},
                                           {4, 16, 1280, 128, true},
                                           {8, 16, 32, 16, false},
                                           {8, 19, 48, 16, false},
                                           {8, 32, 544, 32, false},
                                           {8, 16, 320, 32, false},
                                           {8, 21, 304, 304, false},
                                           {8, 16, 512, 256, false},
                                           // With a book in one byte, and in two.
                                           {4, 33, 96, 32, false, kIq4Values},
                                           {4, 16, 1088, 64, false, kIq4Values},
                                           {4, 16, 48, 16, false, kIq4Values},
                                           {4, 33, 96, 32, false, kNf4Values},
                                           {4, 16, 1088, 64, false, kNf4Values},
                                           {4, 24, 144, 16, false, kNf4Values},
                                           {4, 16, 64, 64, false, kDoubledFp4}};

TEST(GpuMatrix, ProductsAreExactButForRoundings) {
  for (const MatrixKind& kind : kMatrixKinds) {
    const auto& [bits, out, in, group, has_offsets, book] = kind;
    const CodedGpuMatrix coded = kind.coded();
    const GpuMatrix matrix = coded.on(at::kCPU);
    const at::Tensor bias = normal({out}, 4).to(at::kBFloat16);
    for (const int64_t rows : {1, 7, 9, 30}) {
      SCOPED_TRACE(fmt::format("{} rows, {} bits, {} x {} by {}", rows, bits, out, in, group));
      const at::Tensor x = random_rows(rows, in);
      const at::Tensor exact = at::linear(x.to(at::kDouble), coded.values());
      const at::Tensor y = product(matrix, x);
      EXPECT_LT(error_beyond_rounding(y, exact), 1e-5);
      EXPECT_TRUE(y.equal(product(matrix, x, kDescending)));
      EXPECT_LT(
          error_beyond_rounding(product(matrix, x, kAscending, bias), exact + bias.to(at::kDouble)),
          1e-5);
    }
  }
}

TEST(GpuMatrix, ARowDoesNotDependOnTheOthersNorOnAddresses) {
  for (const MatrixKind& kind :
       {MatrixKind{4, 48, 576, 32, true}, MatrixKind{8, 48, 576, 32, false},
        MatrixKind{4, 48, 576, 64, false, kNf4Values}}) {
    const GpuMatrix matrix = kind.coded().on(at::kCPU);
    const at::Tensor x = random_rows(65, 576), all = product(matrix, x);
    for (const int64_t rows : {1, 8, 9, 20, 40, 64}) {
      EXPECT_TRUE(product(matrix, x.narrow(0, 1, rows)).equal(all.narrow(0, 1, rows))) << rows;
    }
    at::Tensor elsewhere = at::empty({2 * 576 + 1}, at::kBFloat16).narrow(0, 1, 2 * 576);
    elsewhere.copy_(x.narrow(0, 0, 2).flatten());
    EXPECT_TRUE(product(matrix, elsewhere.view({2, 576})).equal(all.narrow(0, 0, 2)));
  }
}

TEST(GpuMatrix, Float32IsRoundedToBfloat16) {
  for (const MatrixKind& kind :
       {MatrixKind{4, 33, 576, 32, true}, MatrixKind{8, 19, 304, 304, false},
        MatrixKind{4, 48, 576, 64, false, kNf4Values}}) {
    const CodedGpuMatrix coded = kind.coded();
    const GpuMatrix matrix = coded.on(at::kCPU);
    const at::Tensor x = random_rows(40, kind.in), bias = normal({kind.out}, 4).to(at::kBFloat16);
    const at::Tensor exact = at::linear(x.to(at::kDouble), coded.values(), bias.to(at::kDouble));
    const at::Tensor y = multiply(emulated_kernels(kAscending), matrix, x, bias, at::kFloat);
    EXPECT_LT(relative(y.to(at::kDouble), exact), 1e-6);
    EXPECT_TRUE(y.to(at::kBFloat16).equal(product(matrix, x, kAscending, bias)));
  }
}

/// Eight rows at a time, and up to 72, however many blocks share the inputs.
TEST(GpuMatrix, AllKernelsGiveTheSameBits) {
  for (const MatrixKind& kind : kMatrixKinds) {
    const GpuMatrix matrix = kind.coded().on(at::kCPU);
    const at::Tensor x = random_rows(80, kind.in);
    std::vector<at::Tensor> eights;
    for (const at::Tensor& eight : x.split(8)) eights.push_back(product(matrix, eight));
    const at::Tensor expected = at::cat(eights);
    for (const int64_t rows : {9, 20, 40, 80}) {
      for (const int splits : {1, 4, 8}) {
        SCOPED_TRACE(fmt::format("{} rows, {} bits, {} x {}, {} splits", rows, kind.bits, kind.out,
                                 kind.in, splits));
        const at::Tensor y = multiply(emulated_kernels(kDescending), matrix, x.narrow(0, 0, rows),
                                      {}, at::kBFloat16, splits);
        EXPECT_TRUE(y.equal(expected.narrow(0, 0, rows)));
        EXPECT_TRUE(matrix.counters.eq(0).all().item<bool>());
      }
    }
  }
}

/// Room for one, two, four or eight rows of inputs.
TEST(GpuMatrix, FewRowsHaveTheBitsOfMany) {
  for (const MatrixKind& kind :
       {MatrixKind{4, 48, 640, 128, true}, MatrixKind{8, 48, 640, 640, false}}) {
    const GpuMatrix matrix = kind.coded().on(at::kCPU);
    const at::Tensor x = random_rows(8, 640), all = product(matrix, x);
    for (const int64_t rows : {1, 2, 3, 4, 5}) {
      EXPECT_TRUE(product(matrix, x.narrow(0, 2, rows), kDescending).equal(all.narrow(0, 2, rows)))
          << rows;
    }
  }
}

TEST(GpuMatrix, NaNStaysInItsRow) {
  const CodedGpuMatrix coded(4, 16, 64, 32, true);
  at::Tensor x = random_rows(2, 64);
  x[1][63] = std::nan("");
  const at::Tensor y = product(coded.on(at::kCPU), x);
  EXPECT_FALSE(y[0].isnan().any().item<bool>());
  EXPECT_TRUE(y[1].isnan().all().item<bool>());
}

TEST(GpuMatrix, ManyOutputsTakeOneLaunchAndTheSameBits) {
  for (const MatrixKind& kind :
       {MatrixKind{4, 16400, 64, 32, false}, MatrixKind{4, 16400, 64, 64, false, kNf4Values}}) {
    const GpuMatrix matrix = kind.coded().on(at::kCPU);  // more panels a block
    const at::Tensor x = random_rows(10, 64);
    const int64_t before = num_emulated_launches();
    const at::Tensor y = product(matrix, x);
    EXPECT_EQ(num_emulated_launches() - before, 1);
    EXPECT_TRUE(product(matrix.panels(1000, 1025), x).equal(y.narrow(1, 16000, 400)));
    EXPECT_TRUE(product(matrix, x.narrow(0, 3, 1)).equal(y.narrow(0, 3, 1)));
  }
}

/// The widths of a 7B model. The outputs are those of a small matrix again and again.
TEST(LargeGpuMatrix, EveryCopyOfAMatrixGivesTheSame) {
  struct Repeated {
    int64_t copies, in, rows;
    int bits;
    int64_t group;
  };
  for (const auto& [copies, in, rows, bits, group] :
       {Repeated{8, 18'944, 65, 4, 128}, Repeated{8, 18'944, 3, 8, 18'944},
        Repeated{592, 3584, 9, 4, 128}, Repeated{592, 3584, 2, 4, 128},
        Repeated{2376, 640, 17, 8, 640}, Repeated{2376, 640, 1, 8, 640}}) {
    SCOPED_TRACE(fmt::format("{} x {}, {} rows, {} bits", 64 * copies, in, rows, bits));
    const CodedGpuMatrix coded(bits, 64, in, group, bits == 4);
    const GpuMatrix one = coded.on(at::kCPU);
    const GpuMatrix all = stacked(std::vector<GpuMatrix>(static_cast<size_t>(copies), one));
    const at::Tensor x = random_rows(rows, in), y = product(one, x);
    EXPECT_LT(error_beyond_rounding(y, at::linear(x.to(at::kDouble), coded.values())), 1e-5);
    EXPECT_TRUE(
        product(all, x).view({rows, copies, 64}).equal(y.unsqueeze(1).expand({rows, copies, 64})));
  }
}

TEST(GpuMatrix, WidensToTheSameValues) {
  for (const MatrixKind& kind : kMatrixKinds) {
    const auto& [bits, out, in, group, has_offsets, book] = kind;
    SCOPED_TRACE(fmt::format("{} bits, {} x {} by {}", bits, out, in, group));
    const CodedGpuMatrix coded = kind.coded();
    const GpuMatrix matrix = coded.on(at::kCPU);
    const at::Tensor exact = coded.values();
    for (const GpuKernels* kernels :
         {&emulated_kernels(kDescending), static_cast<const GpuKernels*>(nullptr)}) {
      const at::Tensor wide = widen(kernels, matrix);
      ASSERT_EQ(wide.sizes(), exact.sizes());
      EXPECT_LT(error_beyond_rounding(wide, exact), 1e-6);
    }
  }
}

/// Where there is no product for weights in few bits.
TEST(GpuMatrix, AreWidenedOnceForAllRows) {
  const CodedGpuMatrix coded(4, 16400, 64, 32, false);
  const GpuMatrix matrix = coded.on(at::kCPU);
  const at::Tensor x = random_rows(70, 64);
  const at::Tensor exact = at::linear(x.to(at::kDouble), coded.values());
  for (const int64_t tile : {0, 32}) {
    const int64_t before = num_emulated_launches();
    const at::Tensor y = widened_product(&emulated_kernels(kAscending), matrix, x, tile);
    EXPECT_EQ(num_emulated_launches() - before, 2);  // for 16,384 outputs at a time
    EXPECT_LT(error_beyond_rounding(y, exact), 1e-2);
  }
}

TEST(GpuMatrix, SeveralLieInOnePiece) {
  const GpuMatrix q = CodedGpuMatrix(4, 32, 96, 32, true, 1).on(at::kCPU);
  const GpuMatrix k = CodedGpuMatrix(4, 16, 96, 32, true, 5).on(at::kCPU);
  const GpuMatrix v = CodedGpuMatrix(4, 10, 96, 32, true, 9).on(at::kCPU);
  const GpuMatrix whole = stacked(std::array{q, k, v});
  ASSERT_TRUE(whole.words.defined());
  EXPECT_EQ(whole.out, 58);
  const at::Tensor x = random_rows(3, 96), y = product(whole, x);
  EXPECT_TRUE(y.narrow(1, 32, 16).equal(product(k, x)));
  const std::array parts{whole.panels(0, 2), whole.panels(2, 3), whole.panels(3, 4)};
  EXPECT_EQ(whole_of(parts).words.data_ptr(), whole.words.data_ptr());
  EXPECT_TRUE(product(whole_of(parts), x).equal(y));
  EXPECT_FALSE(whole_of(std::array{parts[0], parts[2]}).words.defined());
  EXPECT_FALSE(stacked(std::array{v, q}).words.defined());  // v's panel is not full
  EXPECT_FALSE(
      stacked(std::array{q, CodedGpuMatrix(8, 16, 96, 32, true).on(at::kCPU)}).words.defined());
}

TEST(GpuMatrix, ThoseOfOneBookLieInOnePiece) {
  const auto with = [](const CodeValues& book, uint64_t seed) {
    return CodedGpuMatrix(4, 16, 96, 32, false, seed, book).on(at::kCPU);
  };
  const GpuMatrix q = with(kIq4Values, 1), k = with(kIq4Values, 5);
  const GpuMatrix whole = stacked(std::array{q, k});
  const at::Tensor x = random_rows(3, 96);
  EXPECT_TRUE(product(whole, x).narrow(1, 16, 16).equal(product(k, x)));
  const std::array parts{whole.panels(0, 1), whole.panels(1, 2)};
  EXPECT_TRUE(product(whole_of(parts), x).equal(product(whole, x)));
  EXPECT_FALSE(stacked(std::array{q, with(kDoubledFp4, 5)}).words.defined());
  EXPECT_FALSE(
      stacked(std::array{q, CodedGpuMatrix(4, 16, 96, 32, false).on(at::kCPU)}).words.defined());
}

/// As the types of 5 bits are where there is no product for them.
TEST(GpuMatrix, OffsetsInEightBitsAreWidenedAlone) {
  const CodedGpuMatrix coded(8, 19, 96, 32, true);
  const GpuMatrix matrix = coded.on(at::kCPU);
  EXPECT_LT(error_beyond_rounding(widen(nullptr, matrix), coded.values()), 1e-6);
  EXPECT_ANY_THROW(widen(&emulated_kernels(kAscending), matrix));
  EXPECT_ANY_THROW(product(matrix, random_rows(1, 96)));
}

TEST(GpuMatrix, RefusesOtherGroupsAndInputs) {
  EXPECT_ANY_THROW(CodedGpuMatrix(4, 16, 96, 48, true).on(at::kCPU));
  const GpuMatrix matrix = CodedGpuMatrix(4, 16, 96, 32, true).on(at::kCPU);
  EXPECT_ANY_THROW(product(matrix, random_rows(1, 128)));
  EXPECT_ANY_THROW(product(matrix, random_rows(1, 64)));
  EXPECT_ANY_THROW(product(matrix, random_rows(0, 96)));
  EXPECT_ANY_THROW(product(matrix, random_rows(1, 96).to(at::kFloat)));
}

}  // namespace
}  // namespace predgen
