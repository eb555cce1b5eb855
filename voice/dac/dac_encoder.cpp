#include "voice/dac/dac_encoder.h"

#include <fmt/format.h>

namespace predgen {
namespace {

/// Rows of unit length, as torch.nn.functional.normalize makes them.
at::Tensor unit_rows(const at::Tensor& rows_ND) {
  return rows_ND / rows_ND.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace

StridedConv::StridedConv(const DacWeights& weights, const std::string& name) {
  const at::Tensor weight_OEk = weights.tensor(name + ".weight");
  stride_ = weight_OEk.size(2) / 2;
  weight_OC_ = weight_OEk.flatten(1);
  bias_O1_ = weights.tensor(name + ".bias").unsqueeze(1);
}

at::Tensor StridedConv::operator()(const at::Tensor& x_EN) const {
  const at::Tensor windows_ENk =
      at::constant_pad_nd(x_EN, {stride_ / 2, stride_ / 2}).unfold(1, 2 * stride_, stride_);
  return at::addmm(bias_O1_, weight_OC_, windows_ENk.transpose(1, 2).flatten(0, 1));
}

DacEncoder::DacEncoder(const DacWeights& weights)
    : config_(weights.config()),
      first_(weights, "encoder.conv1"),
      snake_(weights, "encoder.snake1"),
      last_(weights, "encoder.conv2") {
  for (size_t i = 0; i < config_.strides.size(); ++i) {
    const std::string block = fmt::format("encoder.block.{}", i);
    blocks_.push_back({residual_units(weights, block), Snake(weights, block + ".snake1"),
                       StridedConv(weights, block + ".conv1")});
  }
  for (int64_t k = 0; k < config_.num_codebooks; ++k) {
    const std::string name = fmt::format("quantizer.quantizers.{}", k);
    quantizers_.push_back({Conv(weights, name + ".in_proj"), Conv(weights, name + ".out_proj"),
                           weights.tensor(name + ".codebook.weight")});
  }
}

at::Tensor DacEncoder::encode(const Waveform& waveform) const {
  const at::Tensor samples_N = mono_at(waveform, config_.sample_rate);
  const int64_t hop = config_.hop(), excess = samples_N.size(0) % hop;
  const at::Tensor whole = at::constant_pad_nd(samples_N, {0, excess == 0 ? 0 : hop - excess});
  const auto run = [](const Conv& conv, const at::Tensor& x_EN) {
    ConvState state;
    return conv(state, x_EN, /*is_end=*/true);
  };
  at::Tensor x = run(first_, whole.unsqueeze(0).to(quantizers_[0].codebook_SD.device()));
  for (const Block& block : blocks_) {
    for (const ResidualUnit& unit : block.units) {
      ResidualUnitState state;
      x = unit(state, x, /*is_end=*/true);
    }
    x = block.down(block.snake(x));
  }
  return quantize(run(last_, snake_(x))).cpu();
}

/// Each codebook describes what those before it left: the row whose direction is nearest.
at::Tensor DacEncoder::quantize(at::Tensor residual_EN) const {
  std::vector<at::Tensor> codes;
  for (const Quantizer& quantizer : quantizers_) {
    const at::Tensor wanted_ND = quantizer.in.valid(residual_EN).t();
    const at::Tensor similarity_NS =
        at::mm(unit_rows(wanted_ND), unit_rows(quantizer.codebook_SD).t());
    codes.push_back(similarity_NS.argmax(1));
    const at::Tensor chosen_DN = quantizer.codebook_SD.index_select(0, codes.back()).t();
    residual_EN = residual_EN - quantizer.out.valid(chosen_DN);
  }
  return at::stack(codes);
}

}  // namespace predgen
