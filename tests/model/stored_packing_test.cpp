#include "model/stored_packing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/quantized_weight.h"
#include "tests/fakes/code_books.h"
#include "tests/fakes/coded_matrix.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

struct Layout {
  const char* name;
  CodeLayout layout;
  int bits;          // in which it runs
  bool has_offsets;  // then
};

/// Those of the types of GGUF files and of bitsandbytes.
const Layout kLayouts[] = {
    {"Q4_0", {32, -8, 7, false}, 4, false},
    {"Q4_1", {32, 0, 15, true}, 4, true},
    {"Q5_0", {32, -16, 15, false}, 8, false},
    {"Q5_1", {32, 0, 31, true}, 8, true},
    {"Q8_0", {32, -128, 127, false}, 8, false},
    {"Q2_K", {16, 0, 3, true}, 4, true},
    {"Q3_K", {16, -4, 3, false}, 4, false},
    {"Q6_K", {16, -32, 31, false}, 8, false},
    {"one_sided", {32, -127, 113, false}, 8, false},
    {"from_zero", {32, 0, 15, false}, 4, true},
    {"IQ4_NL", {32, 0, 15, false, kIq4Values}, 4, false},
    {"MXFP4", {32, 0, 15, false, kDoubledFp4}, 4, false},
    {"NF4", {64, 0, 15, false, kNf4Values}, 4, false},
    {"FP4", {64, 0, 15, false, kFp4Values}, 4, false},
};

class StoredPacking : public testing::TestWithParam<Layout> {
 protected:
  static GroupedMatrix pack(const CodedMatrix& matrix, RowError& error) {
    const at::Tensor& codes = matrix.rows.codes;
    return pack_as_stored(
        matrix.layout, codes.size(0), codes.size(1),
        [&](int64_t begin, int64_t end) { return matrix.read(begin, end); }, error);
  }
  static CodedMatrix coded(int64_t out, int64_t in) {
    const CodeLayout layout = GetParam().layout;
    at::Tensor weight = normal({out, in}, 1) * 0.03;
    if (layout.book) return {weight, layout};
    if (layout.lowest == 0) weight = weight + 0.01;
    if (layout.lowest == 0 && !layout.has_offsets) weight = weight.abs();
    CodeLayout reachable = layout;
    if (!layout.has_offsets && layout.lowest == 0) reachable.lowest = -layout.highest;
    CodedMatrix matrix(weight, reachable);
    matrix.layout = layout;
    return matrix;
  }
};
INSTANTIATE_TEST_SUITE_P(OfType, StoredPacking, testing::ValuesIn(kLayouts),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(StoredPacking, LosesTheRoundingOfScalesAlone) {
  for (const auto& [out, in] : {std::pair{1, 32}, {16, 96}, {37, 320}, {1000, 1216}}) {
    if (in % GetParam().layout.group != 0) continue;
    const CodedMatrix matrix = coded(out, in);
    RowError error;
    const GroupedMatrix packed = pack(matrix, error);
    EXPECT_EQ(packed.bits, GetParam().bits);
    EXPECT_EQ(packed.has_offsets(), GetParam().has_offsets);
    EXPECT_EQ(packed.out, out);
    EXPECT_EQ(packed.in(), in);
    EXPECT_EQ(packed.group(), GetParam().layout.group);
    const double lost = std::sqrt(error.lost / error.total);
    EXPECT_GT(lost, 1e-5);
    EXPECT_LT(lost, 5e-4);
    // What is kept, before it is rounded to bfloat16 itself.
    EXPECT_LT(relative(packed.widen(), matrix.values), 3e-3);
    const at::Tensor x = normal({3, in}, 2).to(at::kBFloat16);
    at::Tensor y = at::empty({3, out}, at::kFloat);
    RowProduct product = packed.product();
    product.x = x.const_data_ptr();
    product.wide_y = y.mutable_data_ptr<float>();
    product.rows = 3;
    run_on_cpu(packed.weights(), product);
    EXPECT_LT(relative(y, at::linear(x.to(at::kFloat), matrix.values)), 2e-3) << out << " x " << in;
  }
}

/// As GGUF has them in the types without offsets that are not of super-blocks.
TEST_P(StoredPacking, LosesNothingOfScalesInFloat16) {
  CodedMatrix matrix = coded(35, 256);
  if (matrix.layout.has_offsets || (matrix.layout.lowest == 0 && !matrix.layout.book)) return;
  matrix.rows.scales = matrix.rows.scales.to(at::kHalf).to(at::kFloat);
  RowError error;
  const GroupedMatrix packed = pack(matrix, error);
  const at::Tensor exact = widen(matrix.rows, matrix.layout);
  if (packed.book && packed.book->num_bytes == 2) {  // but for the book's own rounding
    EXPECT_LT(std::sqrt(error.lost / error.total), 3e-5);
    EXPECT_LT(relative(packed.widen(), exact.to(at::kBFloat16)), 1e-3);
    return;
  }
  EXPECT_EQ(error.lost, 0);
  EXPECT_TRUE(at::equal(packed.widen(), exact.to(at::kBFloat16)));
}

TEST_P(StoredPacking, TheErrorIsThatOfTheMatrix) {
  const CodedMatrix matrix = coded(48, 640);
  RowError error;
  const GroupedMatrix packed = pack(matrix, error);
  // Products with unit vectors are the matrix, all but exactly.
  const at::Tensor x = at::eye(640).to(at::kBFloat16);
  at::Tensor y = at::empty({640, 48}, at::kFloat);
  RowProduct product = packed.product();
  product.x = x.const_data_ptr();
  product.wide_y = y.mutable_data_ptr<float>();
  product.rows = 640;
  run_on_cpu(packed.weights(), product);
  const double found = relative(y.t(), matrix.values), said = std::sqrt(error.lost / error.total);
  EXPECT_NEAR(found, said, 0.01 * said);
}

TEST_P(StoredPacking, LargeMatricesArePackedInPieces) {
  const CodedMatrix matrix = coded(2100, 1024);
  RowError error;
  const GroupedMatrix whole = pack(matrix, error);
  int64_t begin = 0;
  for (const int64_t count : {1024, 512, 564}) {
    CodedMatrix part = matrix;
    part.rows = matrix.read(begin, begin + count);
    const GroupedMatrix packed = pack(part, error);
    EXPECT_TRUE(at::equal(packed.widen(), whole.widen().narrow(0, begin, count)));
    begin += count;
  }
}

TEST_P(StoredPacking, ACodeThatIsNoneIsSeen) {
  CodedMatrix matrix = coded(16, 64);
  if (matrix.layout.highest == 127) return;
  matrix.rows.codes[3][5] = matrix.layout.highest + 1;
  RowError error;
  EXPECT_ANY_THROW(pack(matrix, error));
}

TEST_P(StoredPacking, QuantisedWeightsMultiplyNearTheMatrix) {
  const CodedMatrix matrix = coded(70, 512);
  const auto read = [&](int64_t begin, int64_t end) { return matrix.read(begin, end); };
  const QuantizedWeight weight(matrix.layout, 70, 512, read, at::kCPU, "w");
  EXPECT_LT(weight.relative_error(), 5e-4);
  EXPECT_EQ(weight.bits(), GetParam().bits);
  const int64_t num_scales = 80 * (512 / matrix.layout.group) * (GetParam().has_offsets ? 2 : 1);
  EXPECT_EQ(weight.num_bytes(), 80 * 512 * weight.bits() / 8 + 2 * num_scales);
  for (const int64_t rows : {1, 3, 90}) {  // the last one widened on some CPUs
    const at::Tensor x = normal({2, rows, 512}, 2).to(at::kBFloat16), y = weight(x);
    EXPECT_EQ(y.sizes(), (at::IntArrayRef{2, rows, 70}));
    // y is bfloat16.
    EXPECT_LT(relative(y, at::linear(x.to(at::kFloat), matrix.values)), 4e-3) << rows;
  }
  const at::Tensor ids = at::tensor({69, 0, 69, 31}, at::kLong).view({2, 2});
  EXPECT_TRUE(at::equal(weight.rows(ids).view({4, 512})[2], weight.rows(ids)[0][0]));
  EXPECT_LT(
      relative(weight.rows(ids), matrix.values.index_select(0, ids.flatten()).view({2, 2, -1})),
      3e-3);
  EXPECT_ANY_THROW(weight.rows(at::tensor({70}, at::kLong)));
}

TEST(StoredWeight, RefusesScalesThatFloat16HasNoNumberFor) {
  for (const double bad : {1e6, std::nan(""), HUGE_VAL}) {
    CodedMatrix matrix(normal({32, 64}, 1), {32, -8, 7, false});
    matrix.rows.scales[31][1] = bad;
    const auto read = [&](int64_t begin, int64_t end) { return matrix.read(begin, end); };
    expect_user_error(
        [&] { QuantizedWeight(matrix.layout, 32, 64, read, at::kCPU, "model.k_proj"); },
        {"model.k_proj", "use bf16"});
  }
}

}  // namespace
}  // namespace predgen
