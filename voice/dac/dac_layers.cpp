#include "voice/dac/dac_layers.h"

#include "core/error.h"

namespace predgen {
namespace {

at::Tensor column(const at::Tensor& values) { return values.reshape({-1, 1}).contiguous(); }

/// A copy: a view would keep all of `x_EN` in memory.
at::Tensor keep_from(const at::Tensor& x_EN, int64_t begin) {
  return x_EN.narrow(1, begin, x_EN.size(1) - begin).clone(at::MemoryFormat::Contiguous);
}

}  // namespace

Snake::Snake(const DacWeights& weights, const std::string& name)
    : alpha_E1_(column(weights.tensor(name + ".alpha"))),
      inverse_E1_((alpha_E1_ + 1e-9).reciprocal()) {}

at::Tensor Snake::operator()(const at::Tensor& x_EN) const {
  return (x_EN * alpha_E1_).sin_().square_().mul_(inverse_E1_).add_(x_EN);
}

Conv::Conv(const DacWeights& weights, const std::string& name, int64_t dilation)
    : taps_KOE_(weights.tensor(name + ".weight").permute({2, 0, 1}).contiguous()),
      bias_O1_(column(weights.tensor(name + ".bias"))),
      dilation_(dilation),
      padding_((taps_KOE_.size(0) - 1) * dilation / 2) {}

at::Tensor Conv::valid(const at::Tensor& x_EN) const {
  // A product for each tap: as fast as LibTorch's convolution for long pieces, and faster for short
  // ones, for which that one sorts the weights anew each time.
  const int64_t num_out = x_EN.size(1) - 2 * padding_;
  at::Tensor y_ON = at::addmm(bias_O1_, taps_KOE_[0], x_EN.narrow(1, 0, num_out));
  for (int64_t tap = 1; tap < taps_KOE_.size(0); ++tap) {
    y_ON.addmm_(taps_KOE_[tap], x_EN.narrow(1, tap * dilation_, num_out));
  }
  return y_ON;
}

at::Tensor Conv::operator()(ConvState& state, const at::Tensor& x_EN, bool is_end) const {
  const at::Tensor zeros = x_EN.new_zeros({x_EN.size(0), padding_});
  std::vector<at::Tensor> parts{state.tail_EN.defined() ? state.tail_EN : zeros, x_EN};
  if (is_end) parts.push_back(zeros);
  const at::Tensor input = at::cat(parts, 1);
  const int64_t num_out = input.size(1) - 2 * padding_;
  if (num_out <= 0) {
    state.tail_EN = input;
    return x_EN.new_empty({taps_KOE_.size(1), 0});
  }
  state.tail_EN = keep_from(input, num_out);
  return valid(input);
}

TransposedConv::TransposedConv(const DacWeights& weights, const std::string& name)
    : bias_O1_(column(weights.tensor(name + ".bias"))) {
  const at::Tensor weight_EOk = weights.tensor(name + ".weight");
  stride_ = weight_EOk.size(2) / 2;
  weight_OE_ = weight_EOk.reshape({weight_EOk.size(0), -1}).t().contiguous();
}

at::Tensor TransposedConv::operator()(TransposedConvState& state, const at::Tensor& x_EN,
                                      bool is_end) const {
  const int64_t num_in = x_EN.size(1), num_channels = bias_O1_.size(0);
  const bool is_begin = !state.tail_OS.defined();
  at::Tensor y_ON = x_EN.new_empty({num_channels, 0});
  if (num_in > 0) {
    // Each input sample gives 2S values: S of its own and S that the next sample's are added to.
    const at::Tensor products = at::mm(weight_OE_, x_EN).view({num_channels, 2, stride_, num_in});
    const at::Tensor own_ONS = products.select(1, 0).transpose(1, 2);
    const at::Tensor next_ONS = products.select(1, 1).transpose(1, 2);
    at::Tensor sum_ONS = own_ONS.clone(at::MemoryFormat::Contiguous);
    sum_ONS.narrow(1, 1, num_in - 1).add_(next_ONS.narrow(1, 0, num_in - 1));
    if (!is_begin) sum_ONS.select(1, 0).add_(state.tail_OS);
    state.tail_OS = next_ONS.select(1, num_in - 1).clone(at::MemoryFormat::Contiguous);
    y_ON = sum_ONS.view({num_channels, -1}).add_(bias_O1_);
    if (is_begin) y_ON = y_ON.narrow(1, stride_ / 2, y_ON.size(1) - stride_ / 2);
  }
  if (is_end && state.tail_OS.defined()) {
    y_ON = at::cat({y_ON, state.tail_OS.narrow(1, 0, stride_ / 2) + bias_O1_}, 1);
  }
  return y_ON;
}

ResidualUnit::ResidualUnit(const DacWeights& weights, const std::string& name, int64_t dilation)
    : snake_(weights, name + ".snake1"),
      narrow_snake_(weights, name + ".snake2"),
      wide_(weights, name + ".conv1", dilation),
      narrow_(weights, name + ".conv2") {}

at::Tensor ResidualUnit::operator()(ResidualUnitState& state, const at::Tensor& x_EN,
                                    bool is_end) const {
  const at::Tensor y_EN = narrow_.valid(narrow_snake_(wide_(state.conv, snake_(x_EN), is_end)));
  const at::Tensor skip = state.skip_EN.defined() ? at::cat({state.skip_EN, x_EN}, 1) : x_EN;
  const int64_t num_out = y_EN.size(1);
  state.skip_EN = keep_from(skip, num_out);
  return skip.narrow(1, 0, num_out) + y_EN;
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
