#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/half.h"
#include "tensors/gguf_blocks.h"
#include "tensors/stored_tensors.h"

namespace predgen {

/// What CodedRows::blocks say: the scales and the offsets of all groups, float32 [rows,in/group].
inline std::pair<at::Tensor, at::Tensor> scales_of_blocks(const CodedRows& rows,
                                                          const CodeLayout& layout) {
  at::Tensor scales = at::zeros_like(rows.scales), offsets = at::zeros_like(rows.scales);
  const int64_t size = block_scale_bytes(layout.blocks), groups = kBlockInputs / layout.group;
  const at::Tensor blocks = rows.blocks.contiguous();
  const auto half_at = [](const uint8_t* bytes) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    return from_half(bits);
  };
  for (int64_t i = 0; i < scales.numel(); ++i) {
    const uint8_t* block = blocks.const_data_ptr<uint8_t>() + i / groups * size;
    const auto group = static_cast<int>(i % groups);
    float& scale = scales.mutable_data_ptr<float>()[i];
    if (layout.blocks == BlockScales::kEightBits) {
      scale = half_at(block + 16) * static_cast<float>(static_cast<int8_t>(block[group]));
    } else {
      const SixBitFactors factors = six_bit_factors(block + 4, group);
      scale = half_at(block) * static_cast<float>(factors.scale);
      offsets.mutable_data_ptr<float>()[i] =
          -(half_at(block + 2) * static_cast<float>(factors.offset));
    }
  }
  return {scales, offsets};
}

}  // namespace predgen
