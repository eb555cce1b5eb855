#pragma once

#include <cstdint>

// Without LibTorch and the standard library, as kernels for an instruction set include it.

namespace predgen {

/// A CodeBook as kernels look its values up: (high - 128 + (low - 128) / 256) * unit.
struct CodeTable {
  bool operator==(const CodeTable&) const = default;

  alignas(16) uint8_t high[16] = {};
  alignas(16) uint8_t low[16] = {};  // 128 where one byte is enough
  float unit = 1.0f;
  int num_bytes = 1;
};

}  // namespace predgen
