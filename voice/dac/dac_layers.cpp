#include "voice/dac/dac_layers.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/threads/parallel_ranges.h"
#include "voice/dac/dac_kernels.h"

namespace predgen {
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
