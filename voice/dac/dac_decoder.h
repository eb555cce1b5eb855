#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "voice/dac/dac_layers.h"
#include "voice/dac/dac_weights.h"

namespace predgen {

/// The weights that decode codes to sound. Immutable; used by any number of threads and DacStreams.
/// Always float32: the snake activation does not survive narrower types.
class DacDecoder {
 public:
  explicit DacDecoder(const DacWeights& weights);

  const DacConfig& config() const { return config_; }

  /// A whole clip: codes_KT int64 [K,T] in [0, codebook_size), T >= 0, on any device, to mono
  /// samples [hop*T] in [-1,1], float32 on the CPU.
  at::Tensor decode(const at::Tensor& codes_KT) const;

  /// Number of samples at the end of a clip that later frames would still change.
  int64_t lookahead() const { return lookahead_; }

 private:
  friend class DacStream;
  struct Block {
    Snake snake;
    TransposedConv up;
    std::vector<ResidualUnit> units;
  };
  struct BlockState {
    TransposedConvState up;
    std::vector<ResidualUnitState> units;
  };
  /// The state that every layer keeps of a clip.
  struct State {
    ConvState first, last;
    std::vector<BlockState> blocks;
  };
  State begin() const;
  /// The samples that the next frames complete; at the end, all remaining ones.
  at::Tensor advance(State& state, const at::Tensor& codes_KN, bool is_end) const;
  /// The block `first`, all after it and the last layer, depth first in pieces of x; samples go to
  /// `parts`.
  void run_blocks(size_t first, State& state, const at::Tensor& x_NE, bool is_end,
                  std::vector<at::Tensor>& parts) const;
  at::Tensor latents(const at::Tensor& codes_KN) const;

  const DacConfig config_;
  at::Tensor codebooks_SD_;  // the rows of all codebooks, concatenated
  TapWeights projection_;    // of all codebooks, concatenated
  Conv first_;
  std::vector<Block> blocks_;
  Snake snake_;
  Conv last_;
  int64_t lookahead_ = 0;
};

}  // namespace predgen
