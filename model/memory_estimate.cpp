#include "model/memory_estimate.h"

#include <algorithm>
#include <cmath>

#include "model/parts/recurrent_part.h"

namespace predgen {
namespace {

/// Keys of a position in the layers that keep some, or in those that read some.
int64_t kv_values(const ModelConfig& config, bool is_read) {
  int64_t values = 0;
  for (const LayerSpec& layer : config.layers) {
    if (layer.recurrence || (layer.attention.shares >= 0 && !is_read)) continue;
    values += config.num_kv_heads_of(layer.attention) * config.head_dim_of(layer.attention);
  }
  return values;
}

int64_t bytes_of(const WeightSpec& weight, Quantization quantization, int64_t bytes_per_value) {
  const Quantization kind = quantization_of(weight.name, quantization);
  return kind != Quantization::kNone ? quantized_bytes(weight.shape[0], weight.shape[1], kind)
                                     : num_values({weight}) * bytes_per_value;
}

}  // namespace

int64_t weight_bytes(const ModelConfig& config, Quantization quantization, int64_t bytes_per_value,
                     bool active) {
  double sum = 0.0;
  for (const WeightSpec& weight : weight_layout(config)) {
    const int64_t bytes = bytes_of(weight, quantization, bytes_per_value);
    sum += static_cast<double>(bytes) * (active ? weight.share : 1.0);
  }
  int64_t total = std::llround(sum);
  const Quantization head = quantization_of(kHeadName, quantization);
  if (config.tie_word_embeddings && head != Quantization::kNone) {
    total += quantized_bytes(config.vocab_size, config.hidden_size, head);
  }
  return total;
}

int64_t kv_bytes_per_token(const ModelConfig& config, int64_t bytes_per_value) {
  return 2 * kv_values(config, /*is_read=*/false) * bytes_per_value;
}

int64_t kv_bytes_read(const ModelConfig& config, int64_t bytes_per_value) {
  return 2 * kv_values(config, /*is_read=*/true) * bytes_per_value;
}

int64_t mtp_bytes(const ModelConfig& config, Quantization quantization, int64_t bytes_per_value) {
  int64_t total = 0;
  for (const WeightSpec& weight : mtp_weights(config)) {
    total += bytes_of(weight, quantization, bytes_per_value);
  }
  return total;
}

int64_t mtp_bytes_per_token(const ModelConfig& config, int64_t bytes_per_value) {
  const auto mtp = config.mtp();
  if (!mtp) return 0;
  return kv_bytes_per_token(*mtp, bytes_per_value) + config.hidden_size * bytes_per_value;
}

int64_t max_snapshots(int64_t bytes_per_snapshot, int64_t memory) {
  constexpr int64_t kLeast = 2, kMost = 16;
  return std::clamp(memory / std::max<int64_t>(bytes_per_snapshot, 1), kLeast, kMost);
}

int64_t snapshot_bytes(const ModelConfig& config, int64_t bytes_per_value) {
  int64_t total = 0;
  for (const LayerSpec& layer : config.layers) {
    if (layer.recurrence) total += layer.recurrence->state_bytes(config, bytes_per_value);
  }
  return total;
}

}  // namespace predgen
