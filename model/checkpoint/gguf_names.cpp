#include "model/checkpoint/gguf_names.h"

#include <map>
#include <vector>

#include "core/error.h"

namespace predgen {
namespace {

std::string gguf_module(const std::string& module, const BlockSpec& block) {
  static const std::map<std::string, const char*> kModules{
      {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  const auto found = kModules.find(module);
  if (found != kModules.end()) return found->second;
  const NormNames norms = block.norm_names();
  const std::pair<const char*, const char*> places[] = {
      {norms.before_attention, "attn_norm"},
      {norms.after_attention, "post_attention_norm"},
      {norms.before_mlp, "ffn_norm"},
      {norms.after_mlp, "post_ffw_norm"}};
  for (const auto& [name, gguf] : places) {
    if (name && module == name) return gguf;
  }
  throw Error("{} has no name in GGUF", module);
}

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

std::string gguf_name(const std::string& name, const BlockSpec& block) {
  if (name == kEmbeddingName) return "token_embd.weight";
  if (name == "model.norm.weight") return "output_norm.weight";
  if (name == kHeadName) return "output.weight";
  constexpr std::string_view kLayers = "model.layers.";
  const size_t number_end = name.find('.', kLayers.size());
  const size_t module_end = name.rfind('.');
  return fmt::format("blk.{}.{}{}", name.substr(kLayers.size(), number_end - kLayers.size()),
                     gguf_module(name.substr(number_end + 1, module_end - number_end - 1), block),
                     name.substr(module_end));
}

int64_t rows_in_pairs(const std::string& name, std::string_view architecture, int64_t head_dim) {
  const bool has_pairs = architecture == "llama" || architecture == "smollm3";
  const bool is_turned =
      name.find(".q_proj.") != std::string::npos || name.find(".k_proj.") != std::string::npos;
  return has_pairs && is_turned ? head_dim : 0;
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

double added_to(const std::string& name, const BlockSpec& block) {
  return name.ends_with("norm.weight") ? block.norm_offset : 0.0;
}

}  // namespace predgen
