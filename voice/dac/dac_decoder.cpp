#include "voice/dac/dac_decoder.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {
namespace {

// Output values of a block at a time on a CPU, so that its layers stay in the processor's cache.
constexpr int64_t kPieceValues = 192 * 1024;

}  // namespace

DacDecoder::DacDecoder(const DacWeights& weights)
    : config_(weights.config()),
      first_(weights, "decoder.conv1"),
      snake_(weights, "decoder.snake1"),
      last_(weights, "decoder.conv2") {
  std::vector<at::Tensor> codebooks, projections;
  at::Tensor bias;
  for (int64_t k = 0; k < config_.num_codebooks; ++k) {
    const std::string quantizer = fmt::format("quantizer.quantizers.{}.", k);
    codebooks.push_back(weights.tensor(quantizer + "codebook.weight"));
    projections.push_back(weights.tensor(quantizer + "out_proj.weight").squeeze(2).t());
    const at::Tensor own = weights.tensor(quantizer + "out_proj.bias");
    bias = bias.defined() ? bias + own : own;
  }
  codebooks_SD_ = at::cat(codebooks);
  projection_ = TapWeights(at::cat(projections).unsqueeze(0), bias);

  int64_t samples = config_.hop();  // per value at this depth
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
  const at::Tensor chosen_NC =
      codebooks_SD_.index_select(0, rows)
          .view({config_.num_codebooks, num_frames, config_.codebook_dim})
          .transpose(0, 1)
          .reshape({num_frames, config_.num_codebooks * config_.codebook_dim});
  return projection_.multiply(chosen_NC);
}

at::Tensor DacDecoder::advance(State& state, const at::Tensor& codes_KN, bool is_end) const {
  std::vector<at::Tensor> parts;
  run_blocks(0, state, first_(state.first, latents(codes_KN), is_end), is_end, parts);
  return at::cat(parts).cpu();
}

void DacDecoder::run_blocks(size_t first, State& state, const at::Tensor& x_NE, bool is_end,
                            std::vector<at::Tensor>& parts) const {
  if (first == blocks_.size()) {
    parts.push_back(last_(state.last, x_NE, is_end, snake_).tanh_().squeeze(1));
    return;
  }
  const Block& block = blocks_[first];
  const int64_t num_in = x_NE.size(0);
  const int64_t most = x_NE.is_cpu() ? std::max<int64_t>(1, kPieceValues / block.up.num_values())
                                     : std::max<int64_t>(1, num_in);
  for (int64_t begin = 0; begin == 0 || begin < num_in; begin += most) {
    const int64_t count = std::min(most, num_in - begin);
    const bool ends = is_end && begin + count == num_in;
    at::Tensor y =
        block.up(state.blocks[first].up, x_NE.narrow(0, begin, count), ends, block.snake);
    for (size_t i = 0; i < block.units.size(); ++i) {
      y = block.units[i](state.blocks[first].units[i], y, ends);
    }
    run_blocks(first + 1, state, y, ends, parts);
  }
}

at::Tensor DacDecoder::decode(const at::Tensor& codes_KT) const {
  // Layers of many channels, with small outputs, read their weights once per so many frames.
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
