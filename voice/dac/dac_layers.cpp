#include "voice/dac/dac_layers.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "kernels/threads/thread_team.h"
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

namespace {

constexpr int64_t kGrain = 16384;  // values of one task

/// A copy: a view would keep all of `x_NE` in memory.
at::Tensor keep_from(const at::Tensor& x_NE, int64_t begin) {
  return x_NE.narrow(0, begin, x_NE.size(0) - begin).clone();
}

/// Concatenates `before` zeros, or `tail` if defined; snake(x); `after` zeros.
at::Tensor lengthen(const at::Tensor& tail, int64_t before, const at::Tensor& x_NE, int64_t after,
                    const Snake& snake) {
  if (tail.defined()) before = tail.size(0);
  const int64_t num_new = x_NE.size(0);
  const at::Tensor longer = x_NE.new_empty({before + num_new + after, x_NE.size(1)});
  at::Tensor begin = longer.narrow(0, 0, before);
  if (tail.defined()) {
    begin.copy_(tail);
  } else {
    begin.zero_();
  }
  snake.write(x_NE, longer.narrow(0, before, num_new));
  longer.narrow(0, before + num_new, after).zero_();
  return longer;
}

}  // namespace

Snake::Snake(const DacWeights& weights, const std::string& name)
    : alpha_E_(weights.tensor(name + ".alpha").flatten().contiguous()),
      inverse_E_((alpha_E_ + 1e-9).reciprocal()) {}

at::Tensor Snake::operator()(const at::Tensor& x_NE) const {
  const at::Tensor y_NE = at::empty_like(x_NE);
  write(x_NE, y_NE);
  return y_NE;
}

void Snake::write(const at::Tensor& x_NE, const at::Tensor& to_NE) const {
  if (!alpha_E_.defined()) {
    to_NE.copy_(x_NE);
    return;
  }
  if (!x_NE.is_cpu()) {
    to_NE.copy_((x_NE * alpha_E_).sin_().square_().mul_(inverse_E_).add_(x_NE));
    return;
  }
  const int64_t E = x_NE.size(1);
  PREDGEN_CHECK(x_NE.is_contiguous() && to_NE.is_contiguous() && E == alpha_E_.size(0),
                "{} for {} channels", c10::str(x_NE.sizes()), alpha_E_.size(0));
  const auto* from = x_NE.const_data_ptr<float>();
  auto* to = to_NE.mutable_data_ptr<float>();
  parallel_ranges(x_NE.size(0), std::max<int64_t>(1, kGrain / E), [&](int64_t i, int64_t end) {
    dac_kernels().snake(from + i * E, alpha_E_.const_data_ptr<float>(),
                        inverse_E_.const_data_ptr<float>(), end - i, E, to + i * E);
  });
}

Conv::Conv(const DacWeights& weights, const std::string& name, int64_t dilation)
    : weights_(weights.tensor(name + ".weight").permute({2, 1, 0}), weights.tensor(name + ".bias")),
      dilation_(dilation),
      padding_((weights_.taps() - 1) * dilation / 2) {}

at::Tensor Conv::operator()(ConvState& state, const at::Tensor& x_NE, bool is_end,
                            const Snake& snake) const {
  const at::Tensor input = lengthen(state.tail_NE, padding_, x_NE, is_end ? padding_ : 0, snake);
  const int64_t num_out = input.size(0) - 2 * padding_;
  if (num_out <= 0) {
    state.tail_NE = input;
    return x_NE.new_empty({0, weights_.num_out()});
  }
  state.tail_NE = keep_from(input, num_out);
  return valid(input);
}

TransposedConv::TransposedConv(const DacWeights& weights, const std::string& name) {
  const at::Tensor weight_EOk = weights.tensor(name + ".weight");
  const int64_t num_in = weight_EOk.size(0), num_out = weight_EOk.size(1);
  stride_ = weight_EOk.size(2) / 2;
  // Each input step gives 2S output steps: S of its own and S to which the next one's are
  // added.
  const at::Tensor taps_2ESO =
      weight_EOk.view({num_in, num_out, 2, stride_}).permute({2, 0, 3, 1}).flip(0);
  weights_ = TapWeights(taps_2ESO.reshape({2, num_in, stride_ * num_out}),
                        weights.tensor(name + ".bias").repeat({stride_}));
}

at::Tensor TransposedConv::operator()(TransposedConvState& state, const at::Tensor& x_NE,
                                      bool is_end, const Snake& snake) const {
  const bool is_begin = !state.last_1E.defined();
  const int64_t num_channels = weights_.num_out() / stride_;
  if (is_begin && x_NE.size(0) == 0) return x_NE.new_empty({0, num_channels});
  const at::Tensor input = lengthen(state.last_1E, 1, x_NE, is_end ? 1 : 0, snake);
  state.last_1E = keep_from(input, input.size(0) - 1);
  const at::Tensor y_NO = weights_.multiply(input).view({-1, num_channels});
  const int64_t first = is_begin ? stride_ / 2 : 0, cut = first + (is_end ? stride_ / 2 : 0);
  return y_NO.narrow(0, first, y_NO.size(0) - cut);
}

ResidualUnit::ResidualUnit(const DacWeights& weights, const std::string& name, int64_t dilation)
    : snake_(weights, name + ".snake1"),
      narrow_snake_(weights, name + ".snake2"),
      wide_(weights, name + ".conv1", dilation),
      narrow_(weights, name + ".conv2") {}

at::Tensor ResidualUnit::operator()(ResidualUnitState& state, const at::Tensor& x_NE,
                                    bool is_end) const {
  const at::Tensor inner_NE = wide_(state.conv, x_NE, is_end, snake_);
  narrow_snake_.write(inner_NE, inner_NE);
  const at::Tensor y_NE = at::empty_like(inner_NE);
  const at::Tensor old_NE = state.skip_NE.defined() ? state.skip_NE : x_NE.narrow(0, 0, 0);
  const int64_t num_out = y_NE.size(0), num_old = std::min(old_NE.size(0), num_out);
  const auto narrow = [&](const at::Tensor& skip_NE, int64_t first) {
    const int64_t count = skip_NE.size(0);
    narrow_.weights().multiply(inner_NE.narrow(0, first, count), 1, skip_NE,
                               y_NE.narrow(0, first, count));
  };
  narrow(old_NE.narrow(0, 0, num_old), 0);
  narrow(x_NE.narrow(0, 0, num_out - num_old), num_old);
  state.skip_NE = at::cat({old_NE.narrow(0, num_old, old_NE.size(0) - num_old),
                           x_NE.narrow(0, num_out - num_old, x_NE.size(0) - num_out + num_old)});
  return y_NE;
}

std::vector<ResidualUnit> residual_units(const DacWeights& weights, const std::string& block) {
  std::vector<ResidualUnit> units;
  int64_t dilation = 1;
  for (int unit = 1; unit <= 3; ++unit, dilation *= 3) {
    units.emplace_back(weights, fmt::format("{}.res_unit{}", block, unit), dilation);
  }
  return units;
}

}  // namespace predgen
