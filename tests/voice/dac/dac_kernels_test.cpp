#include "voice/dac/dac_kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

struct Set {
  const char* name;
  const DacKernels* kernels;
};

/// Those that this processor runs.
std::vector<Set> sets() {
  std::vector<Set> found{{"plain", &kPlainDacKernels}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back({"avx2", &kAvx2DacKernels});
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    found.push_back({"avx512", &kAvx512DacKernels});
  }
#endif
  return found;
}

class DacKernel : public testing::TestWithParam<Set> {
 protected:
  const DacKernels& kernels() const { return *GetParam().kernels; }

  /// [taps,in,out] as panels.
  at::Tensor panels(const at::Tensor& weights) const {
    std::vector<at::Tensor> parts;
    const int64_t out = weights.size(2), lanes = kernels().lanes;
    for (int64_t panel = 0; panel < num_panels(out, lanes); ++panel) {
      const int64_t first = panel * kPanelVectors * lanes, width = panel_width(out, lanes, panel);
      const int64_t some = std::min(width, out - first);
      parts.push_back(
          at::constant_pad_nd(weights.narrow(2, first, some), {0, width - some}).reshape({-1}));
    }
    return at::cat(parts);
  }

  /// Rows [begin,end) of the product; the others are 7.
  at::Tensor multiply(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& bias,
                      int64_t dilation, const at::Tensor& add, int64_t begin, int64_t end) const {
    const int64_t taps = weights.size(0), out = weights.size(2), lanes = kernels().lanes;
    const at::Tensor packed = panels(weights);
    const at::Tensor wide_bias = at::constant_pad_nd(bias, {0, kPanelVectors * lanes});
    at::Tensor y = at::full({x.size(0) - (taps - 1) * dilation, out}, 7.0f);
    const TapProduct product{.x = x.const_data_ptr<float>(),
                             .weights = packed.const_data_ptr<float>(),
                             .bias = wide_bias.const_data_ptr<float>(),
                             .add = add.defined() ? add.const_data_ptr<float>() : nullptr,
                             .y = y.mutable_data_ptr<float>(),
                             .rows = y.size(0),
                             .in = x.size(1),
                             .out = out,
                             .taps = taps,
                             .dilation = dilation};
    for (int64_t panel = 0; panel < num_panels(out, lanes); ++panel) {
      kernels().multiply(product, panel, begin, end);
    }
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(, DacKernel, testing::ValuesIn(sets()),
                         [](const auto& test) { return std::string(test.param.name); });

struct Shape {
  int64_t rows, in, out, taps, dilation;
};

// Panels of one, two and three vectors, filled and not; depths of one part and of several.
const std::vector<Shape> kShapes{{1, 1, 1, 1, 1},    {5, 3, 12, 7, 9},   {9, 17, 47, 2, 1},
                                 {23, 16, 48, 3, 2}, {8, 96, 96, 7, 3},  {11, 33, 65, 1, 1},
                                 {4, 900, 50, 3, 1}, {13, 1600, 8, 2, 1}};

TEST_P(DacKernel, MultipliesAsAConvolution) {
  for (const auto& [rows, in, out, taps, dilation] : kShapes) {
    const at::Tensor x = normal({rows + (taps - 1) * dilation, in}, 1);
    const at::Tensor weights = normal({taps, in, out}, 2), bias = normal({out}, 3);
    const at::Tensor add = normal({rows, out}, 4);
    const at::Tensor expected =
        at::conv1d(x.t().unsqueeze(0).to(at::kDouble), weights.permute({2, 1, 0}).to(at::kDouble),
                   bias.to(at::kDouble), at::IntArrayRef{1}, at::IntArrayRef{0},
                   at::IntArrayRef{dilation})
            .squeeze(0)
            .t();
    const double bound = 5e-6 + 1.5e-7 * static_cast<double>(taps * in);
    for (const bool adds : {false, true}) {
      const at::Tensor found =
          multiply(x, weights, bias, dilation, adds ? add : at::Tensor(), 0, rows);
      const at::Tensor wanted = adds ? expected + add : expected;
      EXPECT_LE((found - wanted).abs().max().item<double>(), bound)
          << in << " to " << out << ", " << taps << " taps" << (adds ? ", added" : "");
    }
  }
}

TEST_P(DacKernel, ARowsBitsDoNotDependOnTheOthers) {
  const int64_t rows = 29, in = 800, out = 70, taps = 2;
  const at::Tensor x = normal({rows + taps - 1, in}, 1), weights = normal({taps, in, out}, 2);
  const at::Tensor bias = normal({out}, 3), add = normal({rows, out}, 4);
  const at::Tensor whole = multiply(x, weights, bias, 1, add, 0, rows);
  for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {3, 8}, {1, 29}, {28, 29}, {7, 23}, {5, 5}}) {
    const at::Tensor found = multiply(x, weights, bias, 1, add, begin, end);
    EXPECT_TRUE(at::equal(found.narrow(0, begin, end - begin), whole.narrow(0, begin, end - begin)))
        << begin << " to " << end;
    EXPECT_TRUE(at::all(found.narrow(0, 0, begin) == 7).item<bool>());
    EXPECT_TRUE(at::all(found.narrow(0, end, rows - end) == 7).item<bool>());
  }
}

TEST_P(DacKernel, SnakeIsThatOfTheFormula) {
  for (const int64_t channels : {1, 7, 16, 50}) {
    at::Tensor x = normal({40, channels}, 1) * 30;
    x[0] = 0;
    x[1] = 4000;
    at::Tensor alpha = normal({channels}, 2).abs() + 0.1;
    alpha[0] = 0;  // what the 1e-9 is for
    const at::Tensor inverse = (alpha + 1e-9).reciprocal();
    const at::Tensor angle = (x * alpha).to(at::kDouble);  // as it is rounded
    const at::Tensor expected = x.to(at::kDouble) + angle.sin().square() * inverse.to(at::kDouble);
    at::Tensor found = x.clone();
    kernels().snake(x.const_data_ptr<float>(), alpha.const_data_ptr<float>(),
                    inverse.const_data_ptr<float>(), 40, channels, found.mutable_data_ptr<float>());
    const at::Tensor error = (found - expected).abs() / (x.abs() + inverse.clamp_max(100) + 1);
    EXPECT_LE(error.max().item<double>(), 1e-6) << channels;
    at::Tensor in_place = x.clone();
    kernels().snake(in_place.const_data_ptr<float>(), alpha.const_data_ptr<float>(),
                    inverse.const_data_ptr<float>(), 40, channels,
                    in_place.mutable_data_ptr<float>());
    EXPECT_TRUE(at::equal(in_place, found));
  }
}

TEST_P(DacKernel, SnakeIsBoundedForAnyNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const at::Tensor x = at::tensor({1e5f, -1e9f, 1e20f, std::numeric_limits<float>::max()});
  const at::Tensor ones = at::ones({4});
  at::Tensor found = at::empty({4});
  kernels().snake(x.const_data_ptr<float>(), ones.const_data_ptr<float>(),
                  ones.const_data_ptr<float>(), 1, 4, found.mutable_data_ptr<float>());
  EXPECT_TRUE(at::all((found >= x) & (found <= x + 1) & (found < kInfinity)).item<bool>()) << found;
}

}  // namespace
}  // namespace predgen
