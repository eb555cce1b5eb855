#include "model/memory_estimate.h"

namespace predgen {
namespace {

/// As QuantizedWeight keeps it.
int64_t quantized_bytes(int64_t out, int64_t in, Quantization quantization) {
  if (quantization == Quantization::kInt8) return out * in + 2 * out;
  const int64_t group = in % 128 == 0 ? 128 : in % 64 == 0 ? 64 : 32;
  return out * in / 2 + 2 * 2 * out * (in / group);
}

}  // namespace

int64_t weight_bytes(const ModelConfig& config, Quantization quantization,
                     int64_t bytes_per_value) {
  int64_t total = 0;
  for (const WeightSpec& weight : weight_layout(config)) {
    const bool is_linear = weight.name.ends_with("_proj.weight");
    if (is_linear && quantization != Quantization::kNone) {
      total += quantized_bytes(weight.shape[0], weight.shape[1], quantization);
      continue;
    }
    int64_t count = bytes_per_value;
    for (const int64_t size : weight.shape) count *= size;
    total += count;
  }
  return total;
}

int64_t kv_bytes_per_token(const ModelConfig& config, int64_t bytes_per_value) {
  return 2 * config.num_layers * config.num_kv_heads * config.head_dim * bytes_per_value;
}

}  // namespace predgen
