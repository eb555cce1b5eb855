#include "voice/dac/dac_encoder.h"

#include <fmt/format.h>

namespace predgen {
namespace {

/// Rows scaled to unit length, as by torch.nn.functional.normalize.
at::Tensor unit_rows(const at::Tensor& rows_ND) {
  return rows_ND / rows_ND.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace

StridedConv::StridedConv(const DacWeights& weights, const std::string& name) {
  const at::Tensor weight_OEk = weights.tensor(name + ".weight");
  const int64_t num_out = weight_OEk.size(0), num_in = weight_OEk.size(1);
  stride_ = weight_OEk.size(2) / 2;
  const at::Tensor taps_2SEO = weight_OEk.view({num_out, num_in, 2, stride_}).permute({2, 3, 1, 0});
  weights_ =
      TapWeights(taps_2SEO.reshape({2, stride_ * num_in, num_out}), weights.tensor(name + ".bias"));
}

at::Tensor StridedConv::operator()(const at::Tensor& x_NE) const {
  const at::Tensor padded = at::constant_pad_nd(x_NE, {0, 0, stride_ / 2, stride_ / 2});
  return weights_.multiply(padded.view({-1, stride_ * x_NE.size(1)}));
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
  const auto run = [](const Conv& conv, const at::Tensor& x_NE) {
    ConvState state;
    return conv(state, x_NE, /*is_end=*/true);
  };
  at::Tensor x = run(first_, whole.unsqueeze(1).to(quantizers_[0].codebook_SD.device()));
  for (const Block& block : blocks_) {
    for (const ResidualUnit& unit : block.units) {
      ResidualUnitState state;
      x = unit(state, x, /*is_end=*/true);
    }
    x = block.down(block.snake(x));
  }
  return quantize(run(last_, snake_(x))).cpu();
}

/// Each codebook encodes the residual of those before it: the row with the nearest direction.
at::Tensor DacEncoder::quantize(at::Tensor residual_NE) const {
  std::vector<at::Tensor> codes;
  for (const Quantizer& quantizer : quantizers_) {
    const at::Tensor wanted_ND = quantizer.in.valid(residual_NE);
    const at::Tensor similarity_NS =
        at::mm(unit_rows(wanted_ND), unit_rows(quantizer.codebook_SD).t());
    codes.push_back(similarity_NS.argmax(1));
    const at::Tensor chosen_ND = quantizer.codebook_SD.index_select(0, codes.back());
    residual_NE = residual_NE - quantizer.out.valid(chosen_ND);
  }
  return at::stack(codes);
}

}  // namespace predgen
