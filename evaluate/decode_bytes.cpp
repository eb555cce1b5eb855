#include "evaluate/decode_bytes.h"

#include <ATen/ATen.h>

#include <cmath>

#include "model/memory_estimate.h"

namespace predgen::evaluate {

double DecodeBytes::per_token(double positions) const {
  return static_cast<double>(weights + adapter) + static_cast<double>(kv_per_position) * positions;
}

DecodeBytes decode_bytes(const Transformer& model, Quantization quantization) {
  const ModelConfig& config = model.config();
  const auto bytes_per_value = static_cast<int64_t>(at::elementSize(model.dtype()));
  DecodeBytes bytes;
  bytes.weights = weight_bytes(config, quantization, bytes_per_value, /*active=*/true);
  bytes.idle = weight_bytes(config, quantization, bytes_per_value) - bytes.weights;
  const bool is_quantized =
      quantization == Quantization::kInt8 || quantization == Quantization::kInt4;
  const bool has_own_head = !config.tie_word_embeddings || is_quantized;
  if (has_own_head) {  // then embeddings are only looked up
    bytes.weights -= config.vocab_size * config.hidden_size * bytes_per_value;
  }
  double weights = 0.0, idle = 0.0;  // what they have more, or less, as stored
  const auto count_as_stored = [&](const Linear& linear) {
    if (is_quantized || !linear.quantized) return;
    const QuantizedWeight& matrix = *linear.quantized;
    const auto more =
        static_cast<double>(matrix.num_bytes() - matrix.out() * matrix.in() * bytes_per_value);
    weights += linear.share * more;
    idle += (1.0 - linear.share) * more;
  };
  count_as_stored(model.head());
  for (const Linear* linear : model.linears()) {
    count_as_stored(*linear);
    if (!linear->lora_A.defined() || !linear->adapter_enabled) continue;
    bytes.adapter += static_cast<int64_t>(linear->lora_A.nbytes() + linear->lora_B.nbytes());
  }
  bytes.weights += std::llround(weights);
  bytes.idle += std::llround(idle);
  bytes.kv_per_position = kv_bytes_read(config, bytes_per_value);
  return bytes;
}

}  // namespace predgen::evaluate
