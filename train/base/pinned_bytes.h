#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace predgen::train {

/// Bytes in pinned host memory, which a GPU copies asynchronously. LibTorch rounds every block
/// of such memory up to a power of two (ATen/core/CachingHostAllocator.h), up to twice what
/// was asked for, so this class uses blocks that are powers of two: it wastes less than
/// kGrain.
class PinnedBytes {
 public:
  static constexpr int64_t kGrain = int64_t{1} << 20;

  /// Copies uint8 [C]; bytes of a CPU into ordinary memory, for a build or machine without a GPU.
  explicit PinnedBytes(const at::Tensor& bytes_C);
  /// Copies to uint8 [C], on the current stream of its device; this must outlive the copy.
  void copy_to(const at::Tensor& bytes_C) const;
  int64_t size() const { return size_; }

  /// The sizes of the blocks for `num_bytes` bytes.
  static std::vector<int64_t> block_sizes(int64_t num_bytes);

 private:
  int64_t size_ = 0;
  std::vector<at::Tensor> blocks_;
};

}  // namespace predgen::train
