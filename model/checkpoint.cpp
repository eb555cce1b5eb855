#include "model/checkpoint.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <set>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "model/lora.h"
#include "model/safetensors.h"
#include "model/sharded_weights.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

at::Device parse_device(const std::string& name) {
  const bool has_cuda = at::globalContext().hasCUDA();
  if (name == "auto") return has_cuda ? at::kCUDA : at::kCPU;
  if (name != "cpu" && !name.starts_with("cuda")) {
    throw UserError("device \"{}\": must be auto, cpu, cuda or cuda:N", name);
  }
  if (name != "cpu" && !has_cuda) throw UserError("device \"{}\": no CUDA GPU is visible", name);
  try {
    const at::Device device(name);
    const int num_gpus = at::detail::getCUDAHooks().deviceCount();
    if (device.is_cuda() && device.index() >= num_gpus) {
      throw UserError("device \"{}\": there are only {} GPUs", name, num_gpus);
    }
    return device;
  } catch (const c10::Error&) {
    throw UserError("device \"{}\": must be auto, cpu, cuda or cuda:N", name);
  }
}

/// Buffers that old checkpoints carry and every reader computes for itself.
bool is_computed(const std::string& name) { return name.ends_with(".rotary_emb.inv_freq"); }

/// A tied head may be stored too, but only as a copy of the embeddings.
void check_tied_head(const SafetensorsFolder& weights, const std::string& folder) {
  if (!at::equal(weights.tensor("lm_head.weight"), weights.tensor("model.embed_tokens.weight"))) {
    throw UserError(
        "{}: \"tie_word_embeddings\" is true, but lm_head.weight differs from "
        "model.embed_tokens.weight",
        folder);
  }
}

/// Hugging Face names in the order of the reference's state dict, which decides the shards.
std::vector<std::string> state_dict_order(const ModelConfig& config) {
  static constexpr const char* kLayerModules[] = {
      "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
      "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
      "mlp.down_proj",    "input_layernorm",  "post_attention_layernorm"};
  std::vector<std::string> names{"model.embed_tokens.weight"};
  for (int64_t i = 0; i < config.num_layers; ++i) {
    for (const char* module : kLayerModules) {
      const std::string name = fmt::format("model.layers.{}.{}", i, module);
      names.push_back(name + ".weight");
      const bool may_have_bias =
          name.ends_with("q_proj") || name.ends_with("k_proj") || name.ends_with("v_proj");
      if (config.qkv_bias && may_have_bias) names.push_back(name + ".bias");
    }
  }
  names.push_back("model.norm.weight");
  if (!config.tie_word_embeddings) names.push_back("lm_head.weight");
  return names;
}

/// Weights, files that this program writes itself, and adapters (transformers would apply an
/// adapter_config.json that it finds beside merged weights).
bool is_copied(const fs::path& file) {
  static const std::set<std::string> kWeightSuffixes{
      ".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx", ".tmp"};
  const std::string name = file.filename().string();
  return !kWeightSuffixes.contains(file.extension().string()) && name != "config.json" &&
         name != "adapter_config.json" && !name.ends_with(".safetensors.index.json") &&
         !name.ends_with(".bin.index.json");
}

void copy_other_files(const fs::path& source, const fs::path& folder) {
  // The only subfolder with a meaning to transformers.
  const fs::path templates = "additional_chat_templates";
  for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
    if (entry.is_regular_file() && is_copied(entry.path())) {
      write_file(folder / entry.path().filename(), read_file(entry.path()));
    }
  }
  if (source.filename() != templates && fs::is_directory(source / templates)) {
    make_folder(folder / templates);
    copy_other_files(source / templates, folder / templates);
  }
}

}  // namespace

at::ScalarType parse_dtype(const std::string& name) {
  if (name == "fp32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  throw UserError("type \"{}\": must be fp32 or bf16", name);
}

std::unique_ptr<Transformer> load_model(const fs::path& folder, const fs::path& adapter,
                                        const LoadOptions& options) {
  const at::Device device = parse_device(options.device);
  const at::ScalarType dtype = options.dtype != "auto" ? parse_dtype(options.dtype)
                               : device.is_cuda()      ? at::kBFloat16
                                                       : at::kFloat;
  const ModelConfig config = ModelConfig::load(folder);
  const SafetensorsFolder weights(folder);
  std::set<std::string> used;
  std::unique_ptr<Transformer> model;
  try {
    model = std::make_unique<Transformer>(config, [&](const std::string& name) {
      if (!weights.contains(name)) throw UserError("tensor {} is missing", name);
      used.insert(name);
      const at::Tensor stored = weights.tensor(name);
      if (!at::isFloatingType(stored.scalar_type())) {
        throw UserError("tensor {} has type {}; quantised weights are not supported", name,
                        at::toString(stored.scalar_type()));
      }
      return stored.to(device, dtype);
    });
  } catch (const UserError& error) {
    throw UserError("{}: {}", folder.string(), error.what());
  }
  for (const std::string& name : weights.names()) {
    if (used.contains(name) || is_computed(name)) continue;
    if (name != "lm_head.weight" || !config.tie_word_embeddings) {
      throw UserError("{}: tensor {} belongs to no part of a {}", folder.string(), name,
                      config.architecture);
    }
    check_tied_head(weights, folder.string());
  }
  if (!adapter.empty()) load_adapter(*model, adapter);
  return model;
}

void save_model(const Transformer& model, const fs::path& folder, const fs::path& source_folder,
                const std::string& dtype) {
  const at::ScalarType type = parse_dtype(dtype);
  std::map<std::string, at::Tensor> weights = model.named_weights();
  std::vector<std::pair<std::string, at::Tensor>> ordered;
  for (const std::string& name : state_dict_order(model.config())) {
    PREDGEN_CHECK(weights.contains(name), "the model has no tensor {}", name);
    ordered.emplace_back(name, weights[name]);
  }
  PREDGEN_CHECK(ordered.size() == weights.size(), "the model has {} tensors, {} are written",
                weights.size(), ordered.size());

  make_folder(folder);
  Json config = model.config().to_json();
  if (!source_folder.empty()) {
    config = read_json(source_folder / "config.json");
    copy_other_files(source_folder, folder);
  }
  const char* type_name = type == at::kFloat ? "float32" : "bfloat16";
  // transformers 5 prefers "dtype"; a file of transformers 4 keeps its own spelling.
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = type_name;
  if (config.contains("torch_dtype")) config["torch_dtype"] = type_name;
  write_sharded_weights(folder, ordered, type);
  write_file(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace predgen
