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

/// One clip decoded frame by frame without recomputation: every convolution keeps the end of its
/// input. The concatenated results of push() and flush() are DacDecoder::decode() of all frames up
/// to rounding; the same pushes give the same bits. Copies are cheap and independent: one saved at
/// a pause resumes seamlessly. A copy is used by one thread at a time.
class DacStream {
 public:
  /// Borrows the decoder.
  explicit DacStream(const DacDecoder& decoder) : decoder_(&decoder), state_(decoder.begin()) {}

  /// codes_KN int64 [K,n], n >= 0: the next frames. Returns the samples that no later frame can
  /// change, float32 on the CPU: hop*n for all but the first frames, which give lookahead() fewer.
  at::Tensor push(const at::Tensor& codes_KN);

  /// As push(), but returns everything up to the end of these frames, as if the clip ended there:
  /// lookahead() earlier, for the earliest possible first buffer. Unless the clip does end there,
  /// its last lookahead() samples are a guess. Later output continues from there: push() returns
  /// nothing until it has caught up, then exact samples, except for the first 5 ms, over which the
  /// step between the two is faded out. Costs about 10 frames more.
  at::Tensor push_to_edge(const at::Tensor& codes_KN);

  /// Ends the clip and returns the rest of it. Nothing may be pushed afterwards.
  at::Tensor flush();

  int64_t num_samples() const { return num_samples_; }  // returned

 private:
  at::Tensor take(const at::Tensor& samples, int64_t begin);

  const DacDecoder* decoder_;
  DacDecoder::State state_;
  int64_t num_samples_ = 0;
  int64_t num_exact_ = 0;  // samples given by state_; fewer than num_samples_ after an edge
  bool is_after_edge_ = false;
  float edge_sample_ = 0;  // the last sample returned, if that is an edge
  float edge_step_ = 0;    // from the exact value of that sample to it
  bool is_over_ = false;
};

}  // namespace predgen
