#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace predgen::train {

/// A string of bytes in the memory of the host, from where a GPU copies it without waiting.
/// LibTorch makes every block of such memory a power of two (ATen/core/CachingHostAllocator.h), up
/// to twice what was asked for, and so this one is made of blocks that are: what it wastes is less
/// than kGrain.
class PinnedBytes {
 public:
  static constexpr int64_t kGrain = int64_t{1} << 20;

  /// Copies uint8 [C]; those of a CPU into ordinary memory, for a build or a machine without a GPU.
  explicit PinnedBytes(const at::Tensor& bytes_C);
  /// To uint8 [C], on the current stream of its device; this must outlive the copy.
  void copy_to(const at::Tensor& bytes_C) const;
  int64_t size() const { return size_; }

  /// The sizes of the blocks of so many bytes.
  static std::vector<int64_t> block_sizes(int64_t num_bytes);

 private:
  int64_t size_ = 0;
  std::vector<at::Tensor> blocks_;
};

}  // namespace predgen::train
