#pragma once

#include <cstdint>
#include <optional>

#include "kernels/row_product_cpu.h"
#include "model/linear.h"

namespace predgen {

/// A Linear as the CPU kernels see it. Borrows its tensors.
struct CpuLinear {
  /// None if they do not support it: other types, another device, dropout.
  static std::optional<CpuLinear> of(const Linear& linear, bool with_adapter);

  bool has_adapter() const { return lora_A.weight != nullptr; }

  RowWeights weights = RowWeights::kFloat32;
  RowProduct product;          // without x, y, rows and bias
  const void* bias = nullptr;  // [out]; null: none
  bool has_wide_bias = false;  // float32, else bfloat16
  RowProduct lora_A, lora_B;   // float32
  float lora_scaling = 0.0f;
};

}  // namespace predgen
