// Matrices with the bytes that GGUF files have, the kernels run thread by thread on the CPU.
// tests/cuda has them on a GPU.
#include "model/gpu/gpu_planes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "model/gpu/gpu_product.h"
#include "model/quantized_weight.h"
#include "tensors/gguf_blocks.h"
#include "tests/fakes/coded_matrix.h"
#include "tests/fakes/tensors.h"
#include "tests/model/gpu/block_matrix.h"
#include "tests/model/gpu/coded_gpu_matrix.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

at::Tensor product_of(const GpuMatrix& matrix, const at::Tensor& x,
                      at::ScalarType type = at::kBFloat16, int splits = 0) {
  return multiply(emulated_kernels(ThreadOrder::kDescending), matrix, x, {}, type, splits);
}

at::Tensor random_inputs(int64_t rows, int64_t in) {
  return normal({rows, in}, 3).to(at::kBFloat16);
}

class GpuPlanesOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, GpuPlanesOf,
                         testing::Values("Q4_K", "Q5_K", "Q6_K", "Q5_0", "Q5_1", "MXFP4"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(GpuPlanesOf, TakeTheBytesOfTheFile) {
  const BlockMatrix stored(GetParam(), 48, 768);
  const GpuMatrix matrix = stored.on(at::kCPU);
  EXPECT_EQ(matrix.num_bytes(), stored.num_bytes());
  EXPECT_EQ(matrix.in, 768);
  EXPECT_EQ(matrix.group(), stored.type.layout.group);
  EXPECT_EQ(plane_bytes(stored.type.layout, 48 * 768), stored.num_bytes());
  // In 4 or 8 bits and, for a group, 16 bits or 32.
  const CodeLayout& layout = stored.type.layout;
  EXPECT_EQ(QuantizedWeight::stored_bytes(layout, 48 * 768, at::kCPU),
            48 * 768 / layout.group *
                (layout.group * (matrix.bits == 4 ? 4 : 8) / 8 + (layout.has_offsets ? 4 : 2)));
}

/// Each with the float32 bits of its dequantisation.
TEST_P(GpuPlanesOf, ProductsWithUnitVectorsAreTheFilesValues) {
  const BlockMatrix stored(GetParam(), 33, 512);
  const GpuMatrix matrix = stored.on(at::kCPU);
  const at::Tensor expected = stored.values().t();
  const at::Tensor x = at::eye(512).to(at::kBFloat16);
  const at::Tensor wide = product_of(matrix, x, at::kFloat);
  EXPECT_TRUE(wide.equal(expected));
  EXPECT_TRUE(
      product_of(matrix, x.slice(0, 250, 258), at::kFloat).equal(expected.slice(0, 250, 258)));
}

TEST_P(GpuPlanesOf, WidenToTheRoundedValues) {
  const BlockMatrix stored(GetParam(), 40, 768);
  const at::Tensor wide = widen(&emulated_kernels(ThreadOrder::kAscending), stored.on(at::kCPU));
  EXPECT_TRUE(wide.equal(stored.values().to(at::kBFloat16)));
}

TEST_P(GpuPlanesOf, ProductsAreExactButForRoundings) {
  // Panels that are not full, fewer chunks than warps and many more.
  for (const auto& [out, in] : {std::pair{16, 256}, {33, 512}, {40, 1280}}) {
    const BlockMatrix stored(GetParam(), out, in);
    const GpuMatrix matrix = stored.on(at::kCPU);
    for (const int64_t rows : {1, 7, 9, 30}) {
      SCOPED_TRACE(fmt::format("{} rows, {} x {}", rows, out, in));
      const at::Tensor x = random_inputs(rows, in);
      const at::Tensor exact = at::linear(x.to(at::kDouble), stored.values().to(at::kDouble));
      EXPECT_LT(error_beyond_rounding(product_of(matrix, x), exact), 1e-5);
      EXPECT_LT(relative(product_of(matrix, x, at::kFloat).to(at::kDouble), exact), 2e-6);
    }
  }
}

/// Types whose blocks have 32 values: fewer inputs than a chunk, and chunks that are not full.
TEST(GpuPlanes, ChunksMayBeShort) {
  for (const char* type : {"Q5_0", "Q5_1", "MXFP4"}) {
    for (const int64_t in : {32, 96, 608, 896}) {
      SCOPED_TRACE(fmt::format("{} of {}", type, in));
      const BlockMatrix stored(type, 20, in);
      const GpuMatrix matrix = stored.on(at::kCPU);
      const at::Tensor units = at::eye(in).to(at::kBFloat16), expected = stored.values().t();
      EXPECT_TRUE(product_of(matrix, units, at::kFloat).equal(expected));
      EXPECT_TRUE(
          product_of(matrix, units.slice(0, in - 7), at::kFloat).equal(expected.slice(0, in - 7)));
      EXPECT_TRUE(widen(&emulated_kernels(ThreadOrder::kAscending), matrix)
                      .equal(stored.values().to(at::kBFloat16)));
      const at::Tensor x = random_inputs(9, in), y = product_of(matrix, x);
      EXPECT_TRUE(product_of(matrix, x.slice(0, 3, 5)).equal(y.slice(0, 3, 5)));
    }
  }
}

/// Down to powers of two that float32 has no full digits for.
TEST(GpuPlanes, EveryExponentIsExact) {
  const BlockMatrix stored("MXFP4", 16, 512);
  for (int64_t i = 0; i < 255; ++i) {
    stored.rows.scales[i / 16][i % 16] = half_of_e8m0(static_cast<uint8_t>(i));
  }
  const GpuMatrix matrix = stored.on(at::kCPU);
  const at::Tensor units = at::eye(512).to(at::kBFloat16), expected = stored.values().t();
  EXPECT_TRUE(product_of(matrix, units, at::kFloat).equal(expected));
  EXPECT_TRUE(product_of(matrix, units.slice(0, 0, 8), at::kFloat).equal(expected.slice(0, 0, 8)));
  stored.rows.scales[0][0] = 3.0f;
  EXPECT_ANY_THROW(stored.planes());
}

/// Q5_K with its inputs in another order has scales and offsets of groups, which are no float16
/// numbers.
TEST(GpuPlanes, RoundingScalesIsCounted) {
  const CodeLayout layout{32, 0, 31, true};
  const CodedMatrix matrix(normal({40, 320}, 1) * 0.03 + 0.01, layout);
  RowError error;
  const GpuMatrix kept =
      to_gpu_matrix(pack_planes(
                        layout, 40, 320,
                        [&](int64_t begin, int64_t end) { return matrix.read(begin, end); }, error),
                    at::kCPU);
  const at::Tensor wide =
      product_of(kept, at::eye(320).to(at::kBFloat16), at::kFloat).t().to(at::kDouble);
  const at::Tensor values = matrix.values.to(at::kDouble);
  EXPECT_GT(error.lost, 0);
  EXPECT_NEAR(error.lost / (wide - values).square().sum().item<double>(), 1, 1e-2);
  EXPECT_NEAR(error.total / values.square().sum().item<double>(), 1, 1e-6);
}

TEST(GpuPlanes, AreOfSomeLayouts) {
  for (const GgufType& type : gguf_types()) {
    if (type.is_plain()) continue;
    const std::string name(type.name);
    const int bits = name == "Q4_K" || name == "MXFP4" ? 4
                     : name.starts_with("Q5_")         ? 5
                     : name == "Q6_K"                  ? 6
                                                       : 0;
    EXPECT_EQ(plane_bits(type.layout), bits) << name;
  }
  EXPECT_EQ(plane_bits({16, 0, 31, true}), 0);
  EXPECT_EQ(plane_bits({32, -32, 31, false}), 0);
  EXPECT_EQ(plane_bits({32, 0, 15, false, kDoubledFp4}), 0);  // scales are any numbers
}

TEST_P(GpuPlanesOf, WidthsShareTheirBits) {
  const BlockMatrix stored(GetParam(), 144, 512);
  const GpuMatrix matrix = stored.on(at::kCPU);
  const at::Tensor x = random_inputs(200, 512), all = product_of(matrix, x, at::kFloat);
  for (const int64_t rows : {1, 2, 3, 5, 8, 9, 16, 17, 24, 33, 40, 41, 65, 72, 73, 128}) {
    for (const int splits : {1, 4, 8}) {
      if (rows <= kMaxGpuNarrowRows && splits > 1) continue;
      SCOPED_TRACE(fmt::format("{} rows, {} splits", rows, splits));
      const at::Tensor y = product_of(matrix, x.narrow(0, 70, rows), at::kFloat, splits);
      EXPECT_TRUE(y.equal(all.narrow(0, 70, rows)));
      EXPECT_TRUE(matrix.counters.eq(0).all().item<bool>());
    }
  }
}

/// So many that a block takes more than a panel.
TEST_P(GpuPlanesOf, ManyOutputsHaveTheBitsOfFew) {
  const BlockMatrix stored(GetParam(), 16400, 256);
  const GpuMatrix matrix = stored.on(at::kCPU);
  const at::Tensor x = random_inputs(2, 256), y = product_of(matrix, x);
  EXPECT_TRUE(product_of(matrix.panels(1000, 1025), x).equal(y.narrow(1, 16000, 400)));
}

TEST_P(GpuPlanesOf, SeveralLieInOnePiece) {
  const GpuMatrix q = BlockMatrix(GetParam(), 32, 256, 1).on(at::kCPU);
  const GpuMatrix k = BlockMatrix(GetParam(), 16, 256, 5).on(at::kCPU);
  const GpuMatrix whole = stacked(std::array{q, k});
  const at::Tensor x = random_inputs(3, 256), y = product_of(whole, x);
  EXPECT_TRUE(y.narrow(1, 32, 16).equal(product_of(k, x)));
  const std::array parts{whole.panels(0, 2), whole.panels(2, 3)};
  EXPECT_TRUE(product_of(whole_of(parts), x).equal(y));
  const char* other = GetParam() == std::string("Q4_K") ? "Q6_K" : "Q4_K";
  EXPECT_FALSE(stacked(std::array{q, BlockMatrix(other, 16, 256).on(at::kCPU)}).words.defined());
  EXPECT_FALSE(
      stacked(std::array{q, CodedGpuMatrix(4, 16, 256, 32, true).on(at::kCPU)}).words.defined());
}

TEST_P(GpuPlanesOf, NumbersThatAreNotFiniteAreSeen) {
  const BlockMatrix stored(GetParam(), 17, 512);
  RowError error;
  pack_planes(stored.type.layout, 17, 512, stored.reader(), error);
  EXPECT_EQ(error.lost, 0.0);
  const uint16_t infinite = 0x7C00;
  const int64_t size = block_scale_bytes(stored.type.layout.blocks);
  const auto is_refused = [&](const BlockMatrix& bad) {
    pack_planes(bad.type.layout, 17, 512, bad.reader(), error);
    return !std::isfinite(error.lost);
  };
  if (size == 0) {
    BlockMatrix bad(GetParam(), 17, 512);
    const at::Tensor kept = bad.rows.scales.clone();
    bad.rows.scales[16][15] = half_of_e8m0(255);  // above float16's numbers, too
    EXPECT_TRUE(is_refused(bad));
    bad.rows.scales = kept;
    EXPECT_FALSE(is_refused(bad));
    bad.rows.offsets[16][15] = 1e6;
    EXPECT_EQ(is_refused(bad), stored.type.layout.has_offsets);
    return;
  }
  for (const int64_t at : stored.halves()) {
    const BlockMatrix bad(GetParam(), 17, 512);
    std::memcpy(bad.rows.blocks.data_ptr<uint8_t>() + 33 * size + at, &infinite, 2);
    EXPECT_TRUE(is_refused(bad)) << at;
  }
}

TEST_P(GpuPlanesOf, OtherLayoutsAndCodesAreRefused) {
  const BlockMatrix stored(GetParam(), 16, 512);
  RowError error;
  CodeLayout other = stored.type.layout;
  other.group = 16;
  other.blocks = BlockScales::kNone;
  EXPECT_ANY_THROW(pack_planes(other, 16, 512, stored.reader(), error));
  EXPECT_ANY_THROW(pack_planes(stored.type.layout, 16, 128, stored.reader(), error));
  stored.rows.codes[15][511] = 64;
  EXPECT_ANY_THROW(stored.planes());
}

TEST_P(GpuPlanesOf, AreForKernelsAlone) {
  EXPECT_ANY_THROW(widen(nullptr, BlockMatrix(GetParam(), 16, 256).on(at::kCPU)));
}

}  // namespace
}  // namespace predgen
