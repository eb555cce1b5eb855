#include "train/base/pinned_bytes.h"

#include <bit>

#include "core/error.h"

namespace predgen::train {

PinnedBytes::PinnedBytes(const at::Tensor& bytes_C) : size_(bytes_C.numel()) {
  const at::TensorOptions options =
      bytes_C.options().device(at::kCPU).pinned_memory(!bytes_C.is_cpu());
  int64_t begin = 0;
  for (const int64_t size : block_sizes(size_)) {
    blocks_.push_back(at::empty({size}, options));
    blocks_.back().copy_(bytes_C.narrow(0, begin, size));
    begin += size;
  }
}

void PinnedBytes::copy_to(const at::Tensor& bytes_C) const {
  PREDGEN_CHECK(bytes_C.numel() == size_, "{} bytes into {}", size_, bytes_C.numel());
  int64_t begin = 0;
  for (const at::Tensor& block : blocks_) {
    bytes_C.narrow(0, begin, block.numel()).copy_(block, /*non_blocking=*/true);
    begin += block.numel();
  }
}

std::vector<int64_t> PinnedBytes::block_sizes(int64_t num_bytes) {
  std::vector<int64_t> sizes;
  while (num_bytes > 0) {
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_bytes)));
    sizes.push_back(num_bytes < kGrain ? num_bytes : power);
    num_bytes -= sizes.back();
  }
  return sizes;
}

}  // namespace predgen::train
