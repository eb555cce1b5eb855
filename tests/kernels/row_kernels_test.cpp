#include "kernels/row_kernels.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "kernels/grouped_matrix.h"
#include "kernels/row_product_cpu.h"
#include "tests/fakes/code_books.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

struct Set {
  const char* name;
  const RowKernels* kernels;
};

/// Those that this processor runs.
std::vector<Set> sets() {
  std::vector<Set> found{{"plain", &kPlainRowKernels}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back({"avx2", &kAvx2RowKernels});
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    found.push_back({"avx512", &kAvx512RowKernels});
    if (__builtin_cpu_supports("avx512vnni")) {
      found.push_back({"avx512_vnni", &kAvx512VnniRowKernels});
      if (__builtin_cpu_supports("avx512bf16")) {
        found.push_back({"avx512_bf16", &kAvx512Bf16RowKernels});
      }
    }
  }
#endif
  return found;
}

const uint16_t* bits(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const uint16_t*>(tensor.const_data_ptr()) : nullptr;
}

/// A matrix of one kind, and what it stands for.
struct Matrix {
  Matrix(RowWeights kind_of, int64_t out_of, int64_t in_of, int64_t group_of = 32,
         bool has_offsets_of = true, const std::optional<CodeValues>& values_of = {})
      : kind(kind_of), out(out_of), in(in_of), group(group_of), has_offsets(has_offsets_of) {
    if (kind == RowWeights::kFloat32 || kind == RowWeights::kBfloat16) {
      const at::ScalarType type = kind == RowWeights::kFloat32 ? at::kFloat : at::kBFloat16;
      weight = normal({out, in}, 1).to(type);
      bias = normal({out}, 2).to(type);
      exact = weight.to(at::kDouble);
    } else if (kind == RowWeights::kInt8) {
      weight = (normal({out, in}, 1) * 50).round().clamp(-127, 127).to(at::kChar);
      scales = (normal({out}, 2).abs() * 0.01).to(at::kBFloat16);
      exact = weight.to(at::kDouble) * scales.to(at::kDouble).unsqueeze(1);
    } else {
      grouped.bits = kind == RowWeights::kGroupsOf4Bits ? 4 : 8;
      grouped.out = out;
      const int64_t centre = 1 << (grouped.bits - 1), num_groups = in / group;
      const at::Tensor q =
          (normal({out, in}, 1) * 0.5 * centre + centre).round().clamp(0, 2 * centre - 1);
      const at::Tensor own = (normal({out, num_groups}, 2) * 0.1).to(at::kHalf);
      own.select(1, 0).mul_(1e-4);  // below the least normal number
      const at::Tensor offsets =
          has_offsets ? (normal({out, num_groups}, 4) * 0.1).to(at::kHalf) : at::Tensor();
      if (values_of) grouped.book.emplace(*values_of);
      const auto in_type = [&](at::ScalarType type) {
        at::Tensor codes = q.to(type) - centre, unit = at::ones({}, type);
        if (values_of) {
          codes = in_book(type == at::kDouble ? values_of : std::nullopt)
                      .to(type)
                      .index_select(0, q.to(at::kInt).flatten());
          if (type != at::kDouble) unit = unit * grouped.book->unit;
        }
        at::Tensor values =
            codes.view({out, num_groups, group}) * (own.to(type) * unit).unsqueeze(2);
        if (has_offsets) values = values + offsets.to(type).unsqueeze(2);
        return values.view({out, in});
      };
      exact = in_type(at::kDouble);
      rounded = in_type(at::kFloat).to(at::kBFloat16);
      weight = grouped.words = pack_words(q.to(at::kByte), grouped.bits);
      scales = grouped.scales = pack_scales(own, offsets);
    }
    // One byte further than any alignment.
    bytes.resize(weight.nbytes() + 1);
    std::memcpy(bytes.data() + 1, weight.const_data_ptr(), weight.nbytes());
  }

  at::Tensor multiply(const at::Tensor& x, const RowKernels& kernels, bool wide = true) const {
    at::Tensor y = at::full({x.size(0), out}, std::nan(""), wide ? at::kFloat : at::kBFloat16);
    const at::Tensor own = kind == RowWeights::kFloat32 ? x.to(at::kFloat) : x;
    run_on_cpu(kind,
               {.x = own.const_data_ptr(),
                .weight = bytes.data() + 1,
                .scales = bits(scales),
                .bias = bits(bias),
                .y = wide ? nullptr : static_cast<uint16_t*>(y.mutable_data_ptr()),
                .wide_y = wide ? y.mutable_data_ptr<float>() : nullptr,
                .rows = x.size(0),
                .in = in,
                .out = out,
                .group = group,
                .has_offsets = has_offsets,
                .book = grouped.book ? &*grouped.book : nullptr},
               kernels);
    return y;
  }
  at::Tensor expected(const at::Tensor& x) const {
    const at::Tensor y = at::linear(x.to(at::kDouble), exact);
    return bias.defined() ? y + bias.to(at::kDouble) : y;
  }
  std::string name() const {
    return fmt::format("{} x {} of kind {}, groups of {}{}{}", out, in, int(kind), group,
                       has_offsets ? " with offsets" : "",
                       grouped.book ? fmt::format(", {}-byte book", grouped.book->num_bytes) : "");
  }
  /// These values, or those of the kernels' book without its unit.
  at::Tensor in_book(const std::optional<CodeValues>& values) const {
    std::vector<float> found;
    for (int code = 0; code < 16; ++code) {
      found.push_back(values ? (*values)[code] : grouped.book->without_unit(code));
    }
    return at::tensor(found);
  }

  RowWeights kind;
  int64_t out, in, group;
  bool has_offsets;
  GroupedMatrix grouped;
  at::Tensor weight, scales, bias, exact;
  at::Tensor rounded;  // of groups, to bfloat16
  std::vector<char> bytes;
};

std::vector<Matrix> matrices() {
  std::vector<Matrix> found;
  for (const auto kind : {RowWeights::kFloat32, RowWeights::kBfloat16, RowWeights::kInt8}) {
    for (const auto& [out, in] :
         {std::pair{1, 1}, {3, 15}, {7, 65}, {19, 512}, {33, 1100}, {5, 2600}}) {
      found.emplace_back(kind, out, in);
    }
  }
  for (const auto kind : {RowWeights::kGroupsOf4Bits, RowWeights::kGroupsOf8Bits}) {
    for (const bool has_offsets : {false, true}) {
      found.emplace_back(kind, 16, 32, 32, has_offsets);
      found.emplace_back(kind, 37, 96, 16, has_offsets);
      found.emplace_back(kind, 48, 192, 64, has_offsets);
      found.emplace_back(kind, 33, 1152, 32, has_offsets);
      found.emplace_back(kind, 32, 1280, 256, has_offsets);
    }
  }
  for (const CodeValues& values : {kIq4Values, kNf4Values}) {
    for (const auto& [out, in, group] :
         {std::tuple{16, 32, 32}, {37, 96, 16}, {33, 1152, 64}, {32, 1280, 256}}) {
      found.emplace_back(RowWeights::kGroupsOf4Bits, out, in, group, false, values);
    }
  }
  return found;
}

at::Tensor random_rows(int64_t rows, int64_t in) { return normal({rows, in}, 3).to(at::kBFloat16); }

double largest(const at::Tensor& tensor) { return tensor.abs().max().item<double>(); }

TEST(RowKernels, AreNearExactProducts) {
  for (const Matrix& matrix : matrices()) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 63, 64, 65, 67}) {
      const at::Tensor x = random_rows(rows, matrix.in), expected = matrix.expected(x);
      for (const Set& set : sets()) {
        SCOPED_TRACE(fmt::format("{}: {} rows, {}", set.name, rows, matrix.name()));
        const at::Tensor wide = matrix.multiply(x, *set.kernels);
        EXPECT_LT(largest(wide - expected), 1e-4 * largest(expected));
        // Rounded to the nearest, as LibTorch does.
        const at::Tensor narrow = matrix.multiply(x, *set.kernels, false);
        EXPECT_TRUE(at::equal(narrow, wide.to(at::kBFloat16)));
      }
    }
  }
}

TEST(RowKernels, ARowDoesNotDependOnTheOthers) {
  for (const Matrix& matrix : matrices()) {
    const at::Tensor x = random_rows(67, matrix.in);
    for (const Set& set : sets()) {
      const at::Tensor all = matrix.multiply(x, *set.kernels);
      for (int64_t rows = 1; rows < 67; rows += rows < 9 ? 1 : 11) {
        for (const int64_t first : {int64_t{0}, 67 - rows}) {
          EXPECT_TRUE(at::equal(matrix.multiply(x.narrow(0, first, rows), *set.kernels),
                                all.narrow(0, first, rows)))
              << set.name << ": " << rows << " rows, " << matrix.name();
        }
      }
    }
  }
}

TEST(RowKernels, IntegersGiveTheSameBitsOnEveryProcessor) {
  for (const Matrix& matrix : matrices()) {
    if (matrix.kind == RowWeights::kFloat32 || matrix.kind == RowWeights::kBfloat16) continue;
    const at::Tensor x = random_rows(6, matrix.in);
    const at::Tensor plain = matrix.multiply(x, kPlainRowKernels);
    for (const Set& set : sets()) {
      EXPECT_TRUE(at::equal(matrix.multiply(x, *set.kernels), plain))
          << set.name << ", " << matrix.name();
    }
  }
}

TEST(RowKernels, GroupsAreWidenedTheSameOnEveryProcessor) {
  for (const Matrix& matrix : matrices()) {
    if (!are_groups(matrix.kind)) continue;
    const at::Tensor expected = matrix.rounded;
    EXPECT_TRUE(at::equal(matrix.grouped.widen(), expected)) << matrix.name();
    for (const Set& set : sets()) {
      at::Tensor wide = at::zeros({matrix.out, matrix.in}, at::kBFloat16);
      RowProduct product = matrix.grouped.product();
      product.weight = matrix.bytes.data() + 1;
      const auto widen =
          matrix.grouped.bits == 4 ? set.kernels->widen_4_bits : set.kernels->widen_8_bits;
      widen(product, static_cast<uint16_t*>(wide.mutable_data_ptr()), 0,
            matrix.grouped.words.size(0));
      EXPECT_TRUE(at::equal(wide, expected)) << set.name << ", " << matrix.name();
    }
    at::Tensor row = at::empty({matrix.in}, at::kFloat);
    for (const int64_t out : {int64_t{0}, matrix.out / 2, matrix.out - 1}) {
      matrix.grouped.widen_row(out, row.mutable_data_ptr<float>());
      EXPECT_TRUE(at::equal(row, expected[out].to(at::kFloat))) << matrix.name();
    }
  }
}

TEST(RowKernels, RowsThatAreNotFiniteSpoilNoOthers) {
  for (const Matrix& matrix : matrices()) {
    at::Tensor x = random_rows(5, matrix.in);
    for (const Set& set : sets()) {
      x.copy_(random_rows(5, matrix.in));
      const at::Tensor usual = matrix.multiply(x, *set.kernels);
      for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        SCOPED_TRACE(fmt::format("{}, {}: {}", set.name, matrix.name(), bad));
        x[3][matrix.in - 1] = bad;
        const at::Tensor y = matrix.multiply(x, *set.kernels);
        EXPECT_FALSE(at::isfinite(y[3]).any().item<bool>());
        EXPECT_TRUE(at::equal(y.narrow(0, 0, 3), usual.narrow(0, 0, 3)));
        EXPECT_TRUE(at::equal(y[4], usual[4]));
      }
    }
  }
}

/// Its products of 16 and 8 bits are the largest that there are.
TEST(RowKernels, SumsOfABlockFit) {
  for (Matrix matrix : {Matrix(RowWeights::kInt8, 3, 4 * kRowBlock),
                        Matrix(RowWeights::kGroupsOf8Bits, 16, 1024, kMaxGroup, false)}) {
    // The least of either kind is -128.
    const bool is_plain = matrix.kind == RowWeights::kInt8;
    std::memset(matrix.bytes.data(), is_plain ? -128 : 0, matrix.bytes.size());
    const at::Tensor x = at::full({1, matrix.in}, -3.0, at::kBFloat16);
    const at::Tensor sums = is_plain ? matrix.scales.to(at::kDouble) * matrix.in
                                     : matrix.scales.to(at::kDouble).sum({0, 1, 2}) * kMaxGroup;
    const at::Tensor expected = 3.0 * 128 * sums;
    for (const Set& set : sets()) {
      EXPECT_LT(largest(matrix.multiply(x, *set.kernels) - expected), 1e-4 * largest(expected));
      EXPECT_LT(largest(matrix.multiply(-x, *set.kernels) + expected), 1e-4 * largest(expected));
    }
  }
}

TEST(RowKernels, TheLargestSumsOfAGroupFit) {
  Matrix matrix(RowWeights::kGroupsOf8Bits, 16, 512, kMaxGroup, false);
  std::memset(matrix.bytes.data(), 0xFF, matrix.bytes.size());  // 127
  const at::Tensor x = at::full({1, matrix.in}, 3.0, at::kBFloat16);
  const at::Tensor expected = 3.0 * 127 * matrix.scales.to(at::kDouble).sum({0, 1, 2}) * kMaxGroup;
  for (const Set& set : sets()) {
    EXPECT_LT(largest(matrix.multiply(x, *set.kernels) - expected), 1e-4 * largest(expected));
    EXPECT_LT(largest(matrix.multiply(-x, *set.kernels) + expected), 1e-4 * largest(expected));
  }
}

TEST(RowKernels, TheLargestSumsOfABookFit) {
  // In two bytes 1 has the highest high byte, and 32,127 of 32,448 the highest low one.
  const CodeValues bytes{127, -128}, floats{1, 32127.0f / 32448, -1};
  for (const CodeValues& values : {bytes, floats}) {
    Matrix matrix(RowWeights::kGroupsOf4Bits, 16, 512, kMaxGroup, false, values);
    EXPECT_EQ(matrix.grouped.book->high[0], 255);
    EXPECT_EQ(matrix.grouped.book->low[1], values == floats ? 255 : 128);
    const at::Tensor x = at::full({1, matrix.in}, 3.0, at::kBFloat16);
    for (const int code : {0, 1, 2}) {
      std::memset(matrix.bytes.data(), code * 0x11, matrix.bytes.size());
      const at::Tensor scales = matrix.scales.to(at::kDouble).sum({0, 1, 2});
      const at::Tensor expected = 3.0 * double{values[code]} * scales * kMaxGroup;
      for (const Set& set : sets()) {
        const double bound = 1e-4 * largest(scales) * kMaxGroup * (values == bytes ? 128 : 1);
        EXPECT_LE(largest(matrix.multiply(x, *set.kernels) - expected), bound) << set.name;
        EXPECT_LE(largest(matrix.multiply(-x, *set.kernels) + expected), bound) << set.name;
      }
    }
  }
}

TEST(RowKernels, AnOutlierCostsPrecisionInItsBlockOnly) {
  const Matrix matrix(RowWeights::kInt8, 64, 2 * kRowBlock);
  at::Tensor x = random_rows(1, matrix.in);
  x[0][5] = 1e6;
  Matrix blind = matrix;  // to the outlier's block
  blind.exact = matrix.exact.clone();
  blind.exact.narrow(1, 0, kRowBlock).zero_();
  for (int64_t out = 0; out < blind.out; ++out) {
    std::memset(blind.bytes.data() + 1 + out * blind.in, 0, kRowBlock);
  }
  for (const Set& set : sets()) {
    EXPECT_LT(relative(blind.multiply(x, *set.kernels), blind.expected(x)), 1e-4) << set.name;
  }
}

}  // namespace
}  // namespace predgen
