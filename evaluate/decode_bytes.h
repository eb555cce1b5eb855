#pragma once

#include <cstdint>

#include "model/transformer.h"

namespace predgen::evaluate {

/// What one decoding step with one new token has to read from memory. Excludes activations, which
/// stay in caches, and the one row of an embedding table that is not also the head.
struct DecodeBytes {
  int64_t weights = 0;          // of layers, norms and head, as they are in memory
  int64_t idle = 0;             // of experts that a token does not choose; they are not read
  int64_t adapter = 0;          // LoRA matrices beside them
  int64_t kv_per_position = 0;  // keys and values of all layers, also of those that share some

  /// `positions` in the cache, the new one included; a mean over steps may be fractional. A sliding
  /// window masks positions, but they are still read.
  double per_token(double positions) const;
};

/// `quantization`: what the model was loaded with; weights that run as stored are detected.
DecodeBytes decode_bytes(const Transformer& model, Quantization quantization);

}  // namespace predgen::evaluate
