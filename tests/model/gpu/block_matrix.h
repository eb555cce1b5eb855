#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/half.h"
#include "model/gpu/gpu_matrix.h"
#include "model/gpu/gpu_planes.h"
#include "tensors/gguf_blocks.h"

namespace predgen {

/// A random matrix of one of GGUF's types that GPUs have in planes, as a file has it, and its
/// values.
struct BlockMatrix {
  BlockMatrix(std::string_view name, int64_t num_out, int64_t num_in, uint64_t seed = 1)
      : type(named(name)), out(num_out), in(num_in) {
    const int64_t num_blocks = out * in / type.block_values,
                  size = block_scale_bytes(type.layout.blocks);
    std::vector<uint8_t> bytes(static_cast<size_t>(num_blocks * type.block_bytes));
    std::mt19937_64 random(seed);
    std::ranges::generate(bytes, [&] { return static_cast<uint8_t>(random()); });
    rows = {at::empty({out, in}, at::kChar), at::empty({out, in / type.layout.group}, at::kFloat),
            at::empty({out, in / type.layout.group}, at::kFloat)};
    if (size > 0) rows.blocks = at::empty({out, in / kBlockInputs * size}, at::kByte);
    const bool is_eight = type.layout.blocks == BlockScales::kEightBits;
    for (int64_t i = 0; i < num_blocks; ++i) {
      uint8_t* const scales = bytes.data() + i * type.block_bytes + type.scales_at;
      for (const int64_t at : halves()) {
        const auto unit = static_cast<float>(random() % 2000 + 1) / (is_eight ? 1e7f : 4e6f);
        const uint16_t half = to_half(random() % 8 == 0 ? -unit : unit);
        std::memcpy(scales + at, &half, 2);
      }
      if (type.layout.has_exponents) *scales = static_cast<uint8_t>(random() % 20 + 105);
      if (size == 0) continue;
      std::memcpy(rows.blocks.mutable_data_ptr<uint8_t>() + i * size, scales,
                  static_cast<size_t>(size));
    }
    type.unpack(bytes.data(), num_blocks, rows.codes.mutable_data_ptr<int8_t>(),
                rows.scales.mutable_data_ptr<float>(), rows.offsets.mutable_data_ptr<float>());
  }

  CodedRowsOf reader() const {
    return [this](int64_t begin, int64_t end) {
      const auto part = [&](const at::Tensor& all) { return all.slice(0, begin, end); };
      CodedRows some{part(rows.codes), part(rows.scales), part(rows.offsets)};
      if (rows.blocks.defined()) some.blocks = part(rows.blocks);
      return some;
    };
  }
  GpuPlanes planes() const {
    RowError error;
    return pack_planes(type.layout, out, in, reader(), error);
  }
  GpuMatrix on(at::Device device) const { return to_gpu_matrix(planes(), device); }
  /// float32 [out,in], the bits that llama.cpp's and PyPI gguf's dequantisation gives
  /// (tests/tensors/gguf_types_parity.py).
  at::Tensor values() const { return widen(rows, type.layout); }
  int64_t num_bytes() const { return out * in / type.block_values * type.block_bytes; }
  /// Where a block's scales have float16 numbers.
  std::vector<int64_t> halves() const {
    if (type.layout.has_exponents) return {};
    if (type.layout.blocks == BlockScales::kEightBits) return {16};
    return type.layout.has_offsets ? std::vector<int64_t>{0, 2} : std::vector<int64_t>{0};
  }

  const GgufType& type;
  int64_t out, in;
  CodedRows rows;

 private:
  static const GgufType& named(std::string_view name) {
    for (const GgufType& type : gguf_types()) {
      if (type.name == name) return type;
    }
    throw std::runtime_error("no such type");
  }
};

}  // namespace predgen
