#include "kernels/token_kernels.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

struct TokenSet {
  const char* name;
  const TokenKernelSet* kernels;
};

/// Those that this processor runs.
std::vector<TokenSet> token_sets() {
  std::vector<TokenSet> found{{"plain", &kPlainTokenKernels}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back({"avx2", &kAvx2TokenKernels});
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    found.push_back({"avx512", &kAvx512TokenKernels});
  }
#endif
  return found;
}

class TokenKernel : public testing::TestWithParam<std::tuple<TokenSet, at::ScalarType>> {
 protected:
  const TokenKernels& kernels() const {
    const auto& [set, type] = GetParam();
    return type == at::kFloat ? set.kernels->float32 : set.kernels->bfloat16;
  }
  at::ScalarType type() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(, TokenKernel,
                         testing::Combine(testing::ValuesIn(token_sets()),
                                          testing::Values(at::kFloat, at::kBFloat16)),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::get<0>(test.param).name,
                                              at::toString(std::get<1>(test.param)));
                         });

float* data(const at::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }

TEST_P(TokenKernel, LoadsAndStoresAsLibTorchRounds) {
  for (const int64_t count : {1, 4, 15, 16, 17, 64, 67}) {
    at::Tensor x = normal({count}, 1);
    x[0] = std::numeric_limits<float>::quiet_NaN();
    if (count > 1) x[1] = std::numeric_limits<float>::infinity();
    if (count > 4) x[4] = 1.00390625f;  // half-way between two bfloat16
    const at::Tensor stored = at::full({count + 1}, 7.0, type());
    kernels().store(data(x), count, stored.mutable_data_ptr());
    EXPECT_TRUE(at::allclose(stored.narrow(0, 0, count).to(at::kFloat), x.to(type()).to(at::kFloat),
                             0, 0, /*equal_nan=*/true));
    EXPECT_EQ(stored[count].item<float>(), 7.0f);
    const at::Tensor loaded = at::full({count + 1}, 7.0);
    kernels().load(stored.const_data_ptr(), count, data(loaded));
    EXPECT_TRUE(at::allclose(loaded, stored.to(at::kFloat), 0, 0, true));
  }
}

TEST_P(TokenKernel, Norms) {
  for (const int64_t width : {1, 15, 32, 67, 896}) {
    const at::Tensor x = normal({width}, 1), weight = normal({width}, 2).to(type());
    const at::Tensor unweighted = x / (x.square().mean() + 1e-5).sqrt();
    const at::Tensor to = at::full({width + 1}, 7.0);
    for (const float offset : {1.0f, 0.0f}) {
      kernels().norm(data(x), weight.const_data_ptr(), offset, width, 1e-5f, data(to));
      const at::Tensor exact = unweighted * (weight.to(at::kFloat) + offset);
      EXPECT_LT(relative(to.narrow(0, 0, width), exact), 1e-6);
      EXPECT_EQ(to[width].item<float>(), 7.0f);
    }
    kernels().norm(data(x), weight.const_data_ptr(), 0.0f, width, 1e-5f, data(x));  // in place
    EXPECT_TRUE(at::equal(x, to.narrow(0, 0, width)));
  }
}

TEST_P(TokenKernel, Rotates) {
  for (const int64_t D : {2, 8, 34, 64, 128}) {
    const at::Tensor x = normal({D}, 1), angles = normal({D / 2}, 2) * 3;
    const at::Tensor cosines = angles.cos(), sines = angles.sin();
    const auto halves = x.chunk(2);
    const at::Tensor exact =
        at::cat({halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines});
    const at::Tensor turned = x.clone();
    kernels().rotate(data(turned), data(cosines), data(sines), D);
    EXPECT_LT(relative(turned, exact), 1e-6) << D;
  }
}

TEST_P(TokenKernel, GatesAndAdds) {
  for (const int64_t count : {1, 16, 67}) {
    at::Tensor gates = normal({count}, 1) * 20, x = normal({count}, 2);
    gates[0] = -200.0;  // e^200 is beyond float32
    const auto gated = [&](auto gate) {
      const at::Tensor opened = gates.clone();
      gate(data(opened), data(x), count);
      return opened;
    };
    const auto difference = [](const at::Tensor& found, const at::Tensor& exact) {
      return (found - exact).abs().max().item<double>();
    };
    EXPECT_LT(difference(gated(kernels().gate_silu), at::silu(gates) * x), 1e-5);
    EXPECT_LT(difference(gated(kernels().gate_gelu), at::gelu(gates, "tanh") * x), 1e-5);
    x = x * 8;  // beyond where it is clamped
    const at::Tensor clamped = gates.clamp_max(7.0);
    EXPECT_LT(difference(gated(kernels().gate_clamped),
                         clamped * at::sigmoid(1.702 * clamped) * (x.clamp(-7.0, 7.0) + 1)),
              1e-4);
    const at::Tensor added = gates.clone();
    kernels().add(data(added), data(x), 0.5f, count);
    EXPECT_LT(relative(added, gates + 0.5 * x), 1e-6);
  }
}

TEST_P(TokenKernel, FindsTheFirstLargest) {
  for (const int64_t count : {1, 3, 16, 17, 67, 127, 128, 700, 4096}) {
    at::Tensor x = normal({count}, 7) - 5;
    const auto found = [&] { return kernels().argmax(data(x), count); };
    EXPECT_EQ(found(), x.argmax().item<int64_t>()) << count;
    for (const int64_t place : {count * 2 / 3, count / 2, count / 5, int64_t{0}}) {
      x[place] = x[count - 1] = 100.0;
      EXPECT_EQ(found(), place) << count;
    }
    x.fill_(-1.0);
    x[count - 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(found(), count - 1);
    x.fill_(-std::numeric_limits<float>::infinity());
    EXPECT_EQ(found(), 0);
  }
}

/// Consecutive keys, others in any order, none of one kind; more than are computed together. Keys
/// in pieces give the same bits.
TEST_P(TokenKernel, Attends) {
  struct Case {
    int64_t heads, D, places;
    int64_t first, consecutive;
    std::vector<int32_t> others;
  };
  std::vector<int32_t> many;
  for (int32_t i = 0; i < 130; i += 3) many.push_back(i);
  for (const Case& one : {Case{1, 8, 1, 0, 1, {}}, Case{7, 64, 200, 0, 200, {}},
                          Case{4, 128, 300, 17, 201, {}}, Case{2, 34, 40, 0, 30, {31, 33, 39}},
                          Case{17, 16, 140, 0, 0, many}, Case{3, 96, 140, 60, 63, {130, 4, 139}}}) {
    const at::Tensor queries = normal({one.heads, one.D}, 1);
    const at::Tensor keys = normal({one.places, one.D}, 2).to(type());
    const at::Tensor values = normal({one.places, one.D}, 3).to(type());
    at::Tensor seen = at::arange(one.first, one.first + one.consecutive, at::kLong);
    std::vector<int64_t> others(one.others.begin(), one.others.end());
    if (!others.empty()) seen = at::cat({seen, at::tensor(others, at::kLong)});
    const at::Tensor scores =
        at::matmul(queries, keys.to(at::kFloat).index_select(0, seen).t()) * 0.3;
    const at::Tensor exact =
        at::matmul(at::softmax(scores, -1), values.to(at::kFloat).index_select(0, seen));
    const at::Tensor to = at::full({one.heads * one.D + 1}, 7.0);
    const KeyPiece whole{keys.const_data_ptr(), values.const_data_ptr()};
    TokenAttention attention{.queries = data(queries),
                             .pieces = &whole,
                             .to = data(to),
                             .heads = one.heads,
                             .head_dim = one.D,
                             .first = one.first,
                             .num_consecutive = one.consecutive,
                             .others = one.others.data(),
                             .num_others = static_cast<int64_t>(one.others.size()),
                             .scale = 0.3f};
    kernels().attend(attention);
    const at::Tensor in_one = to.clone();
    std::vector<at::Tensor> parts;
    std::vector<KeyPiece> pieces;
    for (int64_t begin = 0; begin < one.places; begin += 1 + begin / 2) {
      for (const at::Tensor& all : {keys, values}) parts.push_back(all.slice(0, begin).clone());
      pieces.push_back({parts.end()[-2].const_data_ptr(), parts.back().const_data_ptr(), begin});
    }
    attention.pieces = pieces.data();
    attention.num_pieces = std::ssize(pieces);
    kernels().attend(attention);
    EXPECT_TRUE(at::equal(to, in_one)) << one.D;
    EXPECT_LT(relative(to.narrow(0, 0, one.heads * one.D).view({one.heads, one.D}), exact), 2e-6)
        << one.D;
    EXPECT_EQ(to[-1].item<float>(), 7.0f);
    const at::Tensor sinks = normal({one.heads}, 4) * 3;
    attention.sinks = data(sinks);
    kernels().attend(attention);
    const at::Tensor shares = at::softmax(at::cat({scores, sinks.unsqueeze(1)}, 1), -1);
    const at::Tensor with_sinks =
        at::matmul(shares.narrow(1, 0, seen.numel()), values.to(at::kFloat).index_select(0, seen));
    EXPECT_LT(relative(to.narrow(0, 0, one.heads * one.D).view({one.heads, one.D}), with_sinks),
              2e-6)
        << one.D;
  }
}

/// Scores far above and below what e^x has numbers for.
TEST_P(TokenKernel, AttendsToLargeScores) {
  const at::Tensor query = at::full({1, 16}, 30.0), values = normal({70, 16}, 3).to(type());
  at::Tensor keys = at::full({70, 16}, -30.0);
  keys[69].fill_(30.0);
  keys = keys.to(type());
  const at::Tensor to = at::zeros({16});
  const KeyPiece whole{keys.const_data_ptr(), values.const_data_ptr()};
  kernels().attend({.queries = data(query),
                    .pieces = &whole,
                    .to = data(to),
                    .heads = 1,
                    .head_dim = 16,
                    .num_consecutive = 70});
  EXPECT_LT(relative(to, values[69]), 1e-6);
}

}  // namespace
}  // namespace predgen
