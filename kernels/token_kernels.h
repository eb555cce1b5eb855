#pragma once

#include <cstdint>

// What a pass does to a token besides products, on CPUs and without LibTorch: one source,
// token_kernels_impl.h, compiled for each instruction set. Sums are float32. A token's result does
// not depend on which others share the pass.

namespace predgen {

/// Keys and values of a key head at the places from `begin` to the next piece's.
struct KeyPiece {
  const void* keys = nullptr;    // [places,head_dim]; float32, or bfloat16's bits
  const void* values = nullptr;  // the same
  int64_t begin = 0;
};

/// The queries of one token that share a key head, and the keys that they see, in order: places
/// first, first + 1, .., first + num_consecutive - 1, then those of `others`.
struct TokenAttention {
  const float* queries = nullptr;    // [heads,head_dim], rotated to their position
  const KeyPiece* pieces = nullptr;  // [num_pieces], at least one; the first begins at 0
  int64_t num_pieces = 1;
  float* to = nullptr;  // [heads,head_dim]
  int64_t heads = 0, head_dim = 0;
  int64_t first = 0, num_consecutive = 0;
  const int32_t* others = nullptr;  // [num_others]
  int64_t num_others = 0;
  float scale = 1.0f;            // of the scores
  const float* sinks = nullptr;  // [heads]: a further score of each, whose value is zero; or null
};

/// A causal convolution of channels by themselves, at one token.
struct TokenConvolution {
  const float* x = nullptr;     // [channels]
  const float* taps = nullptr;  // [num_taps,channels], the oldest input's first
  float* window = nullptr;      // [num_taps - 1,channels]: the inputs before x; moves on to x
  float* to = nullptr;          // [channels]
  int64_t num_taps = 0, channels = 0;
  int64_t stride = 0;  // between rows of `taps` and of `window`
  bool has_silu = false;
};

/// Value heads of a gated delta net that share a key head, at one token (model/parts/delta_net.h).
struct TokenDelta {
  float *query = nullptr, *key = nullptr;  // [key_dim]; overwritten by what they are normed to
  const float* values = nullptr;           // [heads,value_dim]
  const float *decays = nullptr, *betas = nullptr;  // [heads]
  float* state = nullptr;                           // [heads,key_dim,value_dim]
  float* to = nullptr;                              // [heads,value_dim]
  int64_t heads = 0, key_dim = 0, value_dim = 0;
};

/// `void*`: float32 or, in the other table, bfloat16's bits.
struct TokenKernels {
  void (*load)(const void* from, int64_t count, float* to);
  void (*store)(const float* from, int64_t count, void* to);
  /// RMSNorm: to = x * (weight + offset) / sqrt(mean(x^2) + eps); `to` may be x.
  void (*norm)(const float* x, const void* weight, float offset, int64_t width, float eps,
               float* to);
  /// Rotates pairs (x[i], x[i + head_dim / 2]), the layout of Hugging Face checkpoints. `cosines`
  /// and `sines`: [head_dim / 2].
  void (*rotate)(float* x, const float* cosines, const float* sines, int64_t head_dim);
  void (*attend)(const TokenAttention& attention);
  /// gates = silu(gates) * x
  void (*gate_silu)(float* gates, const float* x, int64_t count);
  /// The same with the tanh form of GELU.
  void (*gate_gelu)(float* gates, const float* x, int64_t count);
  /// gates = g / (1 + exp(-1.702 g)) * (1 + x), g at most 7, x from -7 to 7
  void (*gate_clamped)(float* gates, const float* x, int64_t count);
  /// The same with the sigmoid alone.
  void (*gate_sigmoid)(float* gates, const float* x, int64_t count);
  void (*convolve)(const TokenConvolution& convolution);
  void (*advance_delta)(const TokenDelta& delta);
  /// to += scale * x
  void (*add)(float* to, const float* x, float scale, int64_t count);
  /// Index of the first maximum of `count` >= 1 values, as in at::argmax, where NaN is the largest.
  int64_t (*argmax)(const float* x, int64_t count);
};

struct TokenKernelSet {
  TokenKernels float32, bfloat16;
};

/// For this processor, or for a lower level if ATEN_CPU_CAPABILITY asks for it.
const TokenKernelSet& token_kernels();

extern const TokenKernelSet kPlainTokenKernels;
#if defined(__x86_64__)
extern const TokenKernelSet kAvx2TokenKernels;    // with FMA
extern const TokenKernelSet kAvx512TokenKernels;  // F, BW, DQ, VL
#endif

}  // namespace predgen
