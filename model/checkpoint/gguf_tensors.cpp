#include "model/checkpoint/gguf_tensors.h"

#include <set>

#include "core/error.h"
#include "model/weights/converted_read.h"
#include "model/weights/safetensors.h"

namespace predgen {
namespace {

/// What llama.cpp calls the modules of layer `layer`, by what transformers calls them.
std::map<std::string, std::string> layer_names(const BlockSpec& block) {
  std::map<std::string, std::string> names{
      {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  const NormNames norms = block.norm_names();
  const std::pair<const char*, const char*> places[] = {
      {norms.before_attention, "attn_norm"},
      {norms.after_attention, "post_attention_norm"},
      {norms.before_mlp, "ffn_norm"},
      {norms.after_mlp, "post_ffw_norm"}};
  for (const auto& [name, gguf] : places) {
    if (name) names[name] = gguf;
  }
  return names;
}

/// "model.layers.3.mlp.up_proj.weight" -> "blk.3.ffn_up.weight".
std::string gguf_name(const std::string& name, const std::map<std::string, std::string>& layers) {
  if (name == "model.embed_tokens.weight") return "token_embd.weight";
  if (name == "model.norm.weight") return "output_norm.weight";
  if (name == "lm_head.weight") return "output.weight";
  constexpr std::string_view kLayers = "model.layers.";
  const size_t number_end = name.find('.', kLayers.size());
  const size_t module_end = name.rfind('.');
  const std::string module = name.substr(number_end + 1, module_end - number_end - 1);
  return fmt::format("blk.{}.{}{}", name.substr(kLayers.size(), number_end - kLayers.size()),
                     layers.at(module), name.substr(module_end));
}

bool is_computed(const std::string& name) {
  return name == "rope_freqs.weight" || name.ends_with(".attn_rot_embd.weight");
}

/// A rotary pair is (j, j + head_dim / 2) to transformers, (2j, 2j + 1) to llama.cpp's Llama. Rows
/// of whole heads of the latter, in the order of the former.
at::Tensor in_halves(const at::Tensor& rows, int64_t head_dim) {
  std::vector<int64_t> split{-1, head_dim / 2, 2};
  const at::IntArrayRef rest = rows.sizes().slice(1);
  split.insert(split.end(), rest.begin(), rest.end());
  return rows.view(split).transpose(1, 2).reshape(rows.sizes());
}

}  // namespace

GgufTensors::GgufTensors(std::shared_ptr<const GgufFile> file, const ModelConfig& config,
                         const std::string& architecture)
    : file_(std::move(file)) {
  const std::map<std::string, std::string> layers = layer_names(config.block);
  const bool has_pairs = architecture == "llama" || architecture == "smollm3";
  std::set<std::string> taken;
  for (const WeightSpec& weight : weight_layout(config)) {
    const std::string gguf = gguf_name(weight.name, layers);
    const auto found = file_->entries().find(gguf);
    if (found == file_->entries().end()) continue;  // ModelWeights names what is missing
    taken.insert(gguf);
    const bool is_turned = weight.name.find(".q_proj.") != std::string::npos ||
                           weight.name.find(".k_proj.") != std::string::npos;
    const bool is_norm = weight.name.ends_with("norm.weight");
    const GgufFile::Entry& entry = found->second;
    const bool has_heads = !entry.shape.empty() && entry.shape[0] % config.head_dim == 0;
    tensors_[weight.name] = {.entry = &entry,
                             .head_dim = has_pairs && is_turned && has_heads ? config.head_dim : 0,
                             .norm_offset = is_norm ? config.block.norm_offset : 0.0};
  }
  for (const auto& [name, entry] : file_->entries()) {
    if (taken.contains(name) || is_computed(name)) continue;
    tensors_[name] = {.entry = &entry, .head_dim = 0, .norm_offset = 0.0};
  }
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, stored] : tensors_) names.push_back(name);
  return names;
}

const GgufTensors::Stored& GgufTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw UserError("{}: has no tensor {}", file_->metadata().where(), name);
  }
  return found->second;
}

TensorShape GgufTensors::shape(const std::string& name) const {
  const GgufFile::Entry& entry = *find(name).entry;
  return {entry.type->is_plain() ? entry.type->plain : at::kFloat, entry.shape};
}

at::Tensor GgufTensors::tensor(const std::string& name) const {
  const Stored& stored = find(name);
  if (stored.entry->type->is_plain() && stored.is_as_it_is()) return file_->view(*stored.entry);
  return read_rows(name, 0, stored.entry->shape.at(0));
}

at::Tensor GgufTensors::load(const std::string& name, at::Device device,
                             at::ScalarType dtype) const {
  const Stored& stored = find(name);
  const GgufFile::Entry& entry = *stored.entry;
  const at::Tensor loaded = at::empty(entry.shape, at::TensorOptions(dtype).device(device));
  if (device.is_cpu() && entry.type->is_plain() && stored.is_as_it_is()) {
    const auto read = [&](char* to, size_t num_bytes, size_t offset) {
      file_->read(entry, to, num_bytes, offset);
    };
    read_converted(read, entry.type->plain, loaded);
    return loaded;
  }
  for_each_block(entry.shape, [&](int64_t begin, int64_t end) {
    loaded.narrow(0, begin, end - begin).copy_(read_rows(name, begin, end));
  });
  return loaded;
}

at::Tensor GgufTensors::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  const Stored& stored = find(name);
  if (stored.head_dim == 0) {
    const at::Tensor rows = file_->read_rows(*stored.entry, begin, end);
    return stored.norm_offset == 0.0 ? rows : rows - stored.norm_offset;
  }
  const int64_t first = begin / stored.head_dim * stored.head_dim;
  const int64_t last = (end + stored.head_dim - 1) / stored.head_dim * stored.head_dim;
  return in_halves(file_->read_rows(*stored.entry, first, last), stored.head_dim)
      .narrow(0, begin - first, end - begin);
}

std::optional<CodeLayout> GgufTensors::code_layout(const std::string& name) const {
  const Stored& stored = find(name);
  const bool is_matrix = stored.entry->shape.size() == 2 && stored.norm_offset == 0.0;
  if (stored.entry->type->is_plain() || !is_matrix) return std::nullopt;
  return stored.entry->type->layout;
}

CodedRows GgufTensors::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  const Stored& stored = find(name);
  if (stored.head_dim == 0) return file_->read_codes(*stored.entry, begin, end);
  const int64_t first = begin / stored.head_dim * stored.head_dim;
  const int64_t last = (end + stored.head_dim - 1) / stored.head_dim * stored.head_dim;
  const CodedRows rows = file_->read_codes(*stored.entry, first, last);
  const auto part = [&](const at::Tensor& values) {
    return in_halves(values, stored.head_dim).narrow(0, begin - first, end - begin);
  };
  return {.codes = part(rows.codes), .scales = part(rows.scales), .offsets = part(rows.offsets)};
}

void GgufTensors::forget(const std::string& name) const { file_->forget(*find(name).entry); }

}  // namespace predgen
