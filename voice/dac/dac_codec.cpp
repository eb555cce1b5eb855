#include "voice/dac/dac_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

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

namespace {

constexpr double kFadeSeconds = 0.005;

}  // namespace

at::Tensor DacStream::push(const at::Tensor& codes_KN) {
  PREDGEN_CHECK(!is_over_, "frames after the end of the clip");
  const at::Tensor samples = decoder_->advance(state_, codes_KN, /*is_end=*/false);
  const int64_t begin = num_exact_;
  num_exact_ += samples.size(0);
  return take(samples, begin);
}

at::Tensor DacStream::push_to_edge(const at::Tensor& codes_KN) {
  PREDGEN_CHECK(!is_over_, "frames after the end of the clip");
  const at::Tensor samples = decoder_->advance(state_, codes_KN, /*is_end=*/false);
  const int64_t begin = num_exact_;
  num_exact_ += samples.size(0);
  DacDecoder::State end = state_;
  const at::Tensor guess = decoder_->advance(end, codes_KN.narrow(1, 0, 0), /*is_end=*/true);
  const at::Tensor fresh = take(at::cat({samples, guess}), begin);
  if (fresh.size(0) > 0) {
    is_after_edge_ = true;
    edge_sample_ = fresh[-1].item<float>();
  }
  return fresh;
}

at::Tensor DacStream::flush() {
  PREDGEN_CHECK(!is_over_, "the clip has already ended");
  is_over_ = true;
  const at::Tensor no_codes = at::empty({decoder_->config().num_codebooks, 0}, at::kLong);
  return take(decoder_->advance(state_, no_codes, /*is_end=*/true), num_exact_);
}

/// The part of `samples`, which start at sample `begin` of the clip, that was not returned before.
at::Tensor DacStream::take(const at::Tensor& samples, int64_t begin) {
  const int64_t num_old = std::min(num_samples_ - begin, samples.size(0));
  if (is_after_edge_ && num_old > 0 && begin + num_old == num_samples_) {
    edge_step_ = edge_sample_ - samples[num_old - 1].item<float>();
  }
  at::Tensor fresh = samples.narrow(0, num_old, samples.size(0) - num_old);
  if (is_after_edge_ && fresh.size(0) > 0) {
    const auto rate = static_cast<double>(decoder_->config().sample_rate);
    const auto length = std::min(fresh.size(0), static_cast<int64_t>(kFadeSeconds * rate));
    fresh = fresh.clone();
    fresh.narrow(0, 0, length).add_(at::linspace(edge_step_, 0, length)).clamp_(-1, 1);
    is_after_edge_ = false;
  }
  num_samples_ += fresh.size(0);
  return fresh;
}

}  // namespace predgen
