#pragma once

#include <ATen/ATen.h>

#include "voice/dac/dac_decoder.h"

namespace predgen {

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
