#include "model/checkpoint/gguf_names.h"

#include <vector>

namespace predgen {
namespace {

at::Tensor swapped(const at::Tensor& rows, int64_t outer, int64_t inner) {
  std::vector<int64_t> split{-1, outer, inner};
  const at::IntArrayRef rest = rows.sizes().slice(1);
  split.insert(split.end(), rest.begin(), rest.end());
  return rows.view(split).transpose(1, 2).reshape(rows.sizes());
}

}  // namespace

int64_t gemma3_query_scalar(int64_t num_layers, int64_t hidden_size, int64_t num_heads,
                            int64_t head_dim) {
  constexpr int64_t kLayersOf27b = 62;
  return num_layers == kLayersOf27b ? hidden_size / num_heads : head_dim;
}

int64_t rows_in_pairs(const WeightSpec& weight, std::string_view architecture) {
  const bool has_pairs =
      architecture == "llama" || architecture == "smollm3" || architecture == "mistral3";
  return has_pairs ? weight.rotary_rows : 0;
}

std::pair<int64_t, int64_t> whole_heads(int64_t begin, int64_t end, int64_t head_dim) {
  return {begin / head_dim * head_dim, (end + head_dim - 1) / head_dim * head_dim};
}

at::Tensor in_halves(const at::Tensor& rows, int64_t head_dim) {
  return swapped(rows, head_dim / 2, 2);
}

at::Tensor in_pairs(const at::Tensor& rows, int64_t head_dim) {
  return swapped(rows, 2, head_dim / 2);
}

double added_to(const WeightSpec& weight, const ModelConfig& config) {
  return weight.is_norm ? config.norm_offset : 0.0;
}

}  // namespace predgen
