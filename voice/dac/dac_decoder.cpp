#include "voice/dac/dac_decoder.h"

#include "core/error.h"

namespace predgen {

DacDecoder::DacDecoder(const DacWeights& weights)
    : config_(weights.config()),
      first_(weights, "decoder.conv1"),
      snake_(weights, "decoder.snake1"),
      last_(weights, "decoder.conv2") {
  std::vector<at::Tensor> codebooks, projections;
  for (int64_t k = 0; k < config_.num_codebooks; ++k) {
    const std::string quantizer = fmt::format("quantizer.quantizers.{}.", k);
    codebooks.push_back(weights.tensor(quantizer + "codebook.weight"));
    projections.push_back(weights.tensor(quantizer + "out_proj.weight").squeeze(2));
    const at::Tensor bias = weights.tensor(quantizer + "out_proj.bias");
    bias_E1_ = bias_E1_.defined() ? bias_E1_ + bias : bias;
  }
  codebooks_SD_ = at::cat(codebooks);
  projection_EC_ = at::cat(projections, 1);
  bias_E1_ = bias_E1_.reshape({-1, 1});

  int64_t samples = config_.hop();  // that one value stands for, at this depth
  lookahead_ = first_.padding() * samples;
  for (size_t i = 0; i < config_.strides.size(); ++i) {
    const std::string block = fmt::format("decoder.block.{}", i);
    blocks_.push_back({Snake(weights, block + ".snake1"),
                       TransposedConv(weights, block + ".conv_t1"),
                       residual_units(weights, block)});
    const int64_t stride = blocks_.back().up.stride();
    samples /= stride;
    lookahead_ += stride / 2 * samples;
    for (const ResidualUnit& unit : blocks_.back().units) lookahead_ += unit.padding() * samples;
  }
  lookahead_ += last_.padding();
}

DacDecoder::State DacDecoder::begin() const {
  State state;
  for (const Block& block : blocks_) {
    state.blocks.push_back({{}, std::vector<ResidualUnitState>(block.units.size())});
  }
  return state;
}

at::Tensor DacDecoder::latents(const at::Tensor& codes_KN) const {
  PREDGEN_CHECK(codes_KN.dim() == 2 && codes_KN.size(0) == config_.num_codebooks &&
                    codes_KN.scalar_type() == at::kLong,
                "codes are {} {}", at::toString(codes_KN.scalar_type()),
                c10::str(codes_KN.sizes()));
  const int64_t num_frames = codes_KN.size(1);
  const at::Tensor codes = codes_KN.cpu();
  PREDGEN_CHECK(num_frames == 0 || (codes.min().item<int64_t>() >= 0 &&
                                    codes.max().item<int64_t>() < config_.codebook_size),
                "codes from {} to {}, the codebooks have {}", codes.min().item<int64_t>(),
                codes.max().item<int64_t>(), config_.codebook_size);
  const at::Tensor first_row_K1 = at::arange(config_.num_codebooks).mul_(config_.codebook_size);
  const at::Tensor rows = (codes + first_row_K1.unsqueeze(1)).flatten().to(codebooks_SD_.device());
  const at::Tensor chosen_CN =
      codebooks_SD_.index_select(0, rows)
          .view({config_.num_codebooks, num_frames, config_.codebook_dim})
          .transpose(1, 2)
          .reshape({config_.num_codebooks * config_.codebook_dim, num_frames});
  return at::addmm(bias_E1_, projection_EC_, chosen_CN);
}

at::Tensor DacDecoder::advance(State& state, const at::Tensor& codes_KN, bool is_end) const {
  at::Tensor x = first_(state.first, latents(codes_KN), is_end);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    x = block.up(state.blocks[i].up, block.snake(x), is_end);
    for (size_t j = 0; j < block.units.size(); ++j) {
      x = block.units[j](state.blocks[i].units[j], x, is_end);
    }
  }
  return last_(state.last, snake_(x), is_end).tanh_().squeeze(0).cpu();
}

at::Tensor DacDecoder::decode(const at::Tensor& codes_KT) const {
  // In pieces whose layers' outputs stay in the processor's cache: several times faster than at
  // once.
  constexpr int64_t kPiece = 32;
  State state = begin();
  std::vector<at::Tensor> parts;
  int64_t first = 0;
  for (; codes_KT.size(1) - first > kPiece; first += kPiece) {
    parts.push_back(advance(state, codes_KT.narrow(1, first, kPiece), /*is_end=*/false));
  }
  const at::Tensor rest = codes_KT.narrow(1, first, codes_KT.size(1) - first);
  parts.push_back(advance(state, rest, /*is_end=*/true));
  return at::cat(parts);
}

}  // namespace predgen
