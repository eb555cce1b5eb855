#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>

namespace predgen {

// Tensor names carry their shape: L layers, B rows, H key/value heads, S positions, D head size,
// T new positions.

/// Attention keys and values of every layer, in storage allocated once at full capacity.
/// Owned by one sequence (or one batch); not thread-safe.
class KvCache {
 public:
  struct Shape {
    int64_t num_layers = 0;
    int64_t batch_size = 1;
    int64_t num_kv_heads = 0;
    int64_t capacity = 0;  // positions
    int64_t head_dim = 0;
  };

  KvCache(const Shape& shape, const at::TensorOptions& options);

  int64_t length() const { return length_; }
  int64_t capacity() const { return shape_.capacity; }
  int64_t batch_size() const { return shape_.batch_size; }

  /// Writes keys and values [B,H,T,D] of `layer` behind the first length() positions.
  /// Returns views [B,H,length()+T,D] of all of them. length() changes only in commit(), so a
  /// forward pass that throws half-way leaves the cache as it was.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& keys_BHTD,
                                           const at::Tensor& values_BHTD);

  /// Makes `num_tokens` appended positions permanent; called once, after the last layer.
  void commit(int64_t num_tokens);

  /// Forgets every position from `length` on; length in [0, length()]. O(1): no memory moves.
  void truncate(int64_t length);

 private:
  Shape shape_;
  int64_t length_ = 0;
  at::Tensor keys_LBHSD_, values_LBHSD_;
};

}  // namespace predgen
