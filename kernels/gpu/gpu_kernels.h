#pragma once

#include <cstdint>

// The parts of a pass on a GPU: one source, gpu_kernels.cuh,
// without LibTorch's headers, which nvcc compiles and which tests run thread by thread on the
// CPU. Sums are float32. Everything that differs from pass to pass is in device memory, so that a
// graph of the launches can be replayed. `void*`: in the model's type, float32 or bfloat16's
// bits.

namespace predgen {

// Shapes: T tokens, N rows, E hidden size, H heads, G key heads, D head size, I inner size.

enum class GpuType { kFloat32, kBfloat16 };

constexpr int64_t kMaxGpuTokens = 128;  // of a tree, and of a pass that can be a graph
constexpr int kMaxGpuHeadDim = 128;
constexpr int kMaxGpuWidth = 16384;  // of the hidden size
constexpr int kMaxGpuRows = 32;      // queries of a tile's tokens that share a key head
/// Keys whose scores one block computes. A token's result depends on how its keys are chunked, but
/// not on what else is in the pass.
constexpr int kGpuChunk = 32;

/// A new token.
struct GpuToken {
  int32_t id;
  int32_t step;         // whose cache it belongs to; -1: padding, seen by nothing
  int32_t place;        // in its cache
  int32_t position;     // of the text
  int32_t has_adapter;  // 0: GpuAdapter leaves it as it is
  // It sees all places before num_consecutive, and num_consecutive + i for each set bit i of
  // others, 64 bits per word.
  int32_t num_consecutive;
  uint64_t others[kMaxGpuTokens / 64];
};

/// A layer's keys and values of a sequence; heads are head_stride places apart.
struct GpuCache {
  void *keys, *values;
  int64_t head_stride;
};

/// Writes embeddings into the residual stream, and the cosines and sines of the tokens' positions.
struct GpuEmbedding {
  const void* table;         // [V,E]
  const GpuToken* tokens;    // [T]
  const float* frequencies;  // [ropes,D/2], radians per position
  float factors[2];          // of each rope's cosines and sines
  float scale;               // of the embeddings
  int num_tokens, width, head_dim, num_ropes;
  float* hidden;           // [T,E]
  float *cosines, *sines;  // [ropes,T,D/2]
};

/// Weights of products to come, which blocks of a launch ask for while memory is idle, so that they
/// wait in the L2 cache. It changes no result.
struct GpuReadAhead {
  const void* from[2] = {};  // in this order
  int64_t bytes[2] = {};
};
/// The most that they ask for, as parts of the cache: what memory gives meanwhile, roughly.
constexpr int64_t kNormPartsOfL2 = 16, kAttentionPartsOfL2 = 4, kGatePartsOfL2 = 32;

/// Adds a block's output to the residual stream and makes the next product's input.
struct GpuNorm {
  float* hidden;        // [T,E]
  const void* out;      // [T,E], null: nothing is added
  const void* after;    // [E], RMSNorm of `out` before it is added; null: none
  const void* before;   // [E], RMSNorm of the sum for x; null: x is the sum
  const int32_t* rows;  // [N] rows; the residual stream is unchanged; null: all
  int num_rows, width;
  float eps, offset;  // the offset is added to the weights
  void* x;            // [N,E]
  GpuReadAhead ahead = {};
};

enum class GpuHeadNorm { kNone, kHead, kWidth };

/// Norms and rotates queries and keys; writes keys and values to the caches.
struct GpuHeads {
  const void *q, *k, *v;                 // [T,..]
  int64_t q_stride, k_stride, v_stride;  // values per row
  const void *q_weight, *k_weight;       // of the norms; null: none
  GpuHeadNorm norm;
  float eps, offset;
  const GpuToken* tokens;
  const GpuCache* caches;  // a step's is at step * cache_stride
  int64_t cache_stride;
  const float *cosines, *sines;  // [T,D/2]
  int num_tokens, num_heads, num_key_heads, head_dim;
  float* queries;  // [T,H,D]
};

/// Attention of each token over the keys that it sees.
struct GpuAttention {
  const float* queries;
  const GpuToken* tokens;
  const GpuCache* caches;
  int64_t cache_stride;
  int num_tokens, num_heads, num_key_heads, head_dim;
  // Tokens of one step that share keys, at most kMaxGpuRows * G / H. Chunks are kGpuChunk places of
  // the cache; with a tile of 1, as many keys that the token sees, which on a tree's branch are not
  // consecutive: its bits are then those of the same text without a tree.
  int tile;
  int num_splits;  // the first takes chunks 0, num_splits, 2 * num_splits, ..
  int window;      // places that a token sees; 0: all
  float scale;
  float* parts;  // [T,H,num_splits,D + 2]: sums, the largest score, the total weight
  void* x;       // [T,H*D]
  // [num_tiles], the first token of each, none of padding; null: one begins every `tile`
  const int32_t* tiles;
  int num_tiles;
  int* counters;  // [num_tiles,G], 0 before and after
  GpuReadAhead ahead = {};
};

/// silu(gate) * up, or with the tanh form of GELU
struct GpuGate {
  const void *gate, *up;
  int64_t gate_stride, up_stride;
  int num_tokens, width;
  bool is_gelu;
  void* x;  // [T,I]
  GpuReadAhead ahead = {};
};

/// A LoRA adapter's share of a product: y = base + B (scaling * A x), in float32.
struct GpuAdapter {
  const void* x;           // [T,in]
  const float *a, *b;      // [rank,in], [out,rank]
  const GpuToken* tokens;  // [T]
  const float* base;       // [T,out], rows base_stride apart: the product without it
  int64_t base_stride;
  int num_tokens, rank;
  int64_t in, out;
  float scaling;
  float* narrow;  // [T,rank]: anything before and after
  void* y;        // [T,out]
};

constexpr int kMaxGpuKeptLayers = 64;

/// Moves rows of keys and of values within the caches of some layers: row begin + from[i] to
/// begin + i.
struct GpuKeptPath {
  GpuCache caches[kMaxGpuKeptLayers];  // [num_layers]
  int32_t from[kMaxGpuTokens];         // [count], ascending strictly
  int num_layers, count;
  int64_t begin;
  int num_key_heads, head_dim;
};

/// What 4-bit codes stand for, as in kernels/code_book.h: (high - 128 + (low - 128) / 256) * unit.
struct GpuCodeBook {
  int num_bytes = 0;                   // 1: without the low ones; 0: no book
  uint32_t high[4] = {}, low[4] = {};  // a byte per code
  float unit = 1.0f;
};

/// How the scales of a matrix in few bits are kept.
enum class GpuScaling {
  kHalf,         // a float16 scale for each group
  kHalfOffsets,  // and a float16 offset
  // Of blocks of 256 inputs, as GGUF's types of that size have them:
  kSixBits,  // groups of 32: 6 bits times a float16 of the block, for scale and offset (Q4_K, Q5_K)
  kEightBits,  // groups of 16: 8 bits with a sign times a float16 of the block (Q6_K)
  // An exponent of 8 bits for each group of 32: 2^(exponent - 128); none is 255. (MXFP4)
  kExponents
};
constexpr int kGpuBlockInputs = 256;
constexpr bool has_gpu_offsets(GpuScaling scaling) {
  return scaling == GpuScaling::kHalfOffsets || scaling == GpuScaling::kSixBits;
}
constexpr bool is_of_gpu_blocks(GpuScaling scaling) {
  return scaling == GpuScaling::kSixBits || scaling == GpuScaling::kEightBits;
}

/// A matrix [out,in] in 4, 5 or 8 bits: W = (q - 2^(bits - 1)) * scale + offset, where a group of
/// inputs of a row shares scale and offset; with offsets in 5 bits q * scale + offset, and none
/// in 8. Of blocks, in 4 to 6 bits: W = q * scale - offset (kSixBits) or (q - 32) * scale. The
/// layout of codes and scales is in model/gpu/gpu_matrix.h. In 16 bits: bfloat16, row by row.
struct GpuGroupProduct {
  const void* words;   // at a multiple of 16 bytes
  const void* scales;  // likewise; none in 16 bits
  int bits;            // of blocks: 4 or 5 with kSixBits, 6 with kEightBits; of kExponents 4
  int group;           // 16, 32, 64, .. or `in`; in 5 bits not 16
  GpuScaling scaling;
  GpuCodeBook book;  // W = the code's value * scale; with kExponents, of one byte
  int64_t in, out;   // `in` a multiple of 16; in 16 bits of 8; of blocks of 256
  // y = x W^T + bias. A row's bits do not depend on the number of rows. bfloat16, y float32 if
  // `is_wide`.
  const void* x;     // [rows,in], at a multiple of 16 bytes
  const void* bias;  // [out]; null: none
  void* y;           // [rows,out]; of widen_groups() W itself, [out,in]
  int64_t rows;
  bool is_wide;
  // Of more than kMaxGpuNarrowRows rows, whose blocks may share the inputs of some outputs; no bits
  // depend on it.
  int num_splits;  // blocks that do: 1, 4 or 8; 0: num_gpu_splits(out)
  int* counters;   // [num_gpu_counters(out)], 0 before and after
  float* parts;    // [num_gpu_parts(out, num_splits)], anything before and after
};

constexpr int64_t kMaxGpuNarrowRows = 8;
/// The most rows for which weights are read once; more are several launches. Of bfloat16, more than
/// kMostGpuRowsApart are one launch, whose blocks find weights in the L2 cache.
constexpr int64_t kMaxGpuWideRows = 72, kMostGpuRowsApart = 128;
constexpr int64_t kGpuWideOutputs = 128;  // of a block
inline int64_t num_gpu_counters(int64_t out) {
  return (out + kGpuWideOutputs - 1) / kGpuWideOutputs;
}
/// So many that a GPU has enough blocks.
inline int num_gpu_splits(int64_t out) {
  const int64_t blocks = num_gpu_counters(out);
  return blocks >= 128 ? 1 : blocks >= 16 ? 4 : 8;
}
inline int64_t num_gpu_parts(int64_t out, int num_splits) {
  return num_splits == 1 ? 0
                         : num_gpu_counters(out) * kGpuWideOutputs * kMaxGpuWideRows * num_splits;
}

/// What CUDA reports for our kernels on this machine. Versions in CUDA's encoding: 13020 is 13.2.
struct GpuSupport {
  int driver = 0;               // CUDA version it supports; 0: no driver
  int needed = 0;               // CUDA version the kernels were compiled for
  const char* error = nullptr;  // why the device cannot load them; null: it can
  int capability = 0;           // of the device: 89 is 8.9
  int64_t l2_bytes = 0;         // of its L2 cache
};

/// Each launches on `stream`, a cudaStream_t of the current device, without waiting.
struct GpuKernels {
  void (*embed)(GpuType type, const GpuEmbedding& embedding, void* stream);
  void (*norm)(GpuType type, const GpuNorm& norm, void* stream);
  void (*place_heads)(GpuType type, const GpuHeads& heads, void* stream);
  void (*attend)(GpuType type, const GpuAttention& attention, void* stream);
  void (*gate)(GpuType type, const GpuGate& gate, void* stream);
  void (*adapt)(GpuType type, const GpuAdapter& adapter, void* stream);
  void (*keep_path)(GpuType type, const GpuKeptPath& path, void* stream);
  // From compute capability 8.0 on. widen_groups() writes W to y.
  void (*group_product)(const GpuGroupProduct& product, void* stream);
  void (*widen_groups)(const GpuGroupProduct& matrix, void* stream);
  /// Why the last launches failed; null: they did not.
  const char* (*error)();
  GpuSupport (*support)(int device);
};

/// The CUDA kernels, whether or not they can run here. Inside the module (model/gpu/cuda_module.h):
/// programs find them in its table.
const GpuKernels* compiled_kernels();

}  // namespace predgen
