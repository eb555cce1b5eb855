#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "voice/dac/dac_layers.h"
#include "voice/dac/dac_weights.h"
#include "voice/waveform.h"

namespace predgen {

/// A convolution of stride S (even) and kernel 2S, with S/2 zeros at both ends: float32 [S*n,E] to
/// [n,O].
class StridedConv {
 public:
  StridedConv(const DacWeights& weights, const std::string& name);
  at::Tensor operator()(const at::Tensor& x_NE) const;

 private:
  TapWeights weights_;  // with 2 taps of S time steps
  int64_t stride_ = 0;
};

/// Encodes sound to codes, for the audio prefix of a voice. Immutable, used by any number of
/// threads.
class DacEncoder {
 public:
  explicit DacEncoder(const DacWeights& weights);

  const DacConfig& config() const { return config_; }

  /// Converts to mono at the codec's rate, padded with silence to a whole frame, and returns codes
  /// int64 [K, ceil(N'/hop)] on the CPU. Takes about 50 MB per second. UserErrors of mono_at().
  at::Tensor encode(const Waveform& waveform) const;

 private:
  struct Block {
    std::vector<ResidualUnit> units;
    Snake snake;
    StridedConv down;
  };
  struct Quantizer {
    Conv in, out;
    at::Tensor codebook_SD;
  };
  at::Tensor quantize(at::Tensor residual_NE) const;

  const DacConfig config_;
  Conv first_;
  std::vector<Block> blocks_;
  Snake snake_;
  Conv last_;
  std::vector<Quantizer> quantizers_;
};

}  // namespace predgen
