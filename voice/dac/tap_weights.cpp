#include "voice/dac/tap_weights.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "kernels/threads/parallel_ranges.h"
#include "voice/dac/dac_kernels.h"

namespace predgen {
namespace {

constexpr int64_t kRowsOfTask = 256;  // with their inputs these stay in a core's cache

at::Tensor panels(const at::Tensor& weights_KEO) {
  const int64_t lanes = dac_kernels().lanes, out = weights_KEO.size(2);
  const at::Tensor wide =
      at::constant_pad_nd(weights_KEO, {0, (out + lanes - 1) / lanes * lanes - out});
  std::vector<at::Tensor> parts;
  for (int64_t panel = 0; panel < num_panels(out, lanes); ++panel) {
    const at::Tensor part =
        wide.narrow(2, panel * kPanelVectors * lanes, panel_width(out, lanes, panel));
    parts.push_back(part.reshape({-1}));
  }
  return at::cat(parts);
}

}  // namespace

TapWeights::TapWeights(const at::Tensor& weights_KEO, const at::Tensor& bias_O)
    : taps_(weights_KEO.size(0)), in_(weights_KEO.size(1)), out_(weights_KEO.size(2)) {
  if (!weights_KEO.is_cpu()) {
    weights_ = weights_KEO.contiguous();
    bias_O_ = bias_O;
    return;
  }
  const int64_t lanes = dac_kernels().lanes;
  weights_ = panels(weights_KEO);
  bias_O_ =
      at::constant_pad_nd(bias_O, {0, (out_ + lanes - 1) / lanes * lanes - out_}).contiguous();
}

at::Tensor TapWeights::multiply(const at::Tensor& x_NE, int64_t dilation) const {
  const at::Tensor y_NO = x_NE.new_empty({x_NE.size(0) - (taps_ - 1) * dilation, out_});
  multiply(x_NE, dilation, {}, y_NO);
  return y_NO;
}

void TapWeights::multiply(const at::Tensor& x_NE, int64_t dilation, const at::Tensor& add_NO,
                          const at::Tensor& y_NO) const {
  if (x_NE.is_cpu()) return multiply_on_cpu(x_NE, dilation, add_NO, y_NO);
  const int64_t rows = y_NO.size(0);
  at::Tensor sum = y_NO;
  at::addmm_out(sum, bias_O_, x_NE.narrow(0, 0, rows), weights_[0]);
  for (int64_t tap = 1; tap < taps_; ++tap) {
    sum.addmm_(x_NE.narrow(0, tap * dilation, rows), weights_[tap]);
  }
  if (add_NO.defined()) sum.add_(add_NO);
}

void TapWeights::multiply_on_cpu(const at::Tensor& x_NE, int64_t dilation, const at::Tensor& add_NO,
                                 const at::Tensor& y_NO) const {
  const int64_t rows = y_NO.size(0);
  PREDGEN_CHECK(x_NE.is_contiguous() && y_NO.is_contiguous() && x_NE.size(1) == in_ &&
                    x_NE.size(0) == rows + (taps_ - 1) * dilation,
                "{} rows of {} for {}", rows, in_, c10::str(x_NE.sizes()));
  PREDGEN_CHECK(!add_NO.defined() || (add_NO.is_contiguous() && add_NO.sizes() == y_NO.sizes()),
                "{} to add to {}", c10::str(add_NO.sizes()), c10::str(y_NO.sizes()));
  const TapProduct product{.x = x_NE.const_data_ptr<float>(),
                           .weights = weights_.const_data_ptr<float>(),
                           .bias = bias_O_.const_data_ptr<float>(),
                           .add = add_NO.defined() ? add_NO.const_data_ptr<float>() : nullptr,
                           .y = y_NO.mutable_data_ptr<float>(),
                           .rows = rows,
                           .in = in_,
                           .out = out_,
                           .taps = taps_,
                           .dilation = dilation};
  const DacKernels& kernels = dac_kernels();
  const int64_t panels_of_row = num_panels(out_, kernels.lanes);
  const int64_t num_blocks = (rows + kRowsOfTask - 1) / kRowsOfTask;
  parallel_ranges(num_blocks * panels_of_row, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / panels_of_row * kRowsOfTask;
      kernels.multiply(product, task % panels_of_row, row, std::min(row + kRowsOfTask, rows));
    }
  });
}

}  // namespace predgen
