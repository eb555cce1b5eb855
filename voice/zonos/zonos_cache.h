#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>

#include "voice/zonos/zonos_config.h"

namespace predgen {

/// Attention keys and values of one utterance: starts small, grows by buckets. Every bucket is one
/// shape of the decoding step, so that a CUDA graph can be kept for each. Positions after length()
/// are never read.
class ZonosCache {
 public:
  /// Rows of an utterance: 2 with guidance, 1 without.
  static int64_t rows_for(double cfg_scale) { return cfg_scale == 1.0 ? 1 : 2; }
  /// `rows`: 1 or 2.
  ZonosCache(const ZonosConfig& config, int64_t rows, const at::TensorOptions& options);
  ZonosCache(ZonosCache&&) = default;
  ZonosCache& operator=(ZonosCache&&) = default;

  int64_t rows() const { return storage_.size(2); }
  int64_t length() const { return length_; }
  int64_t capacity() const { return storage_.size(4); }
  /// Unique per cache: identifies whose positions a working copy holds.
  uint64_t identity() const { return identity_; }

  /// Makes room for `length` positions. UserError beyond the model's context.
  void reserve(int64_t length);
  /// Records that positions up to `length` were written.
  void set_length(int64_t length);

  /// Keys and values of `layer`, each [rows, kv heads, capacity, head width].
  std::pair<at::Tensor, at::Tensor> layer(int64_t index) const;
  /// All: [layers, 2, rows, kv heads, capacity, head width].
  const at::Tensor& storage() const { return storage_; }

  /// The smallest bucket that holds `length` positions.
  static int64_t bucket(int64_t length);

 private:
  at::Tensor storage_;
  int64_t length_ = 0;
  uint64_t identity_;
};

}  // namespace predgen
