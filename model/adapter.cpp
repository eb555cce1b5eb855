// The PEFT half of model/lora.h: adapters on disk, and merging.

#include <ATen/core/grad_mode.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "model/adapter_config.h"
#include "model/lora.h"
#include "model/safetensors.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kWeightsFile = "adapter_model.safetensors";

std::string tensor_name(const Linear& linear, const char* part) {
  return "base_model.model." + linear.name + "." + part + ".weight";
}

}  // namespace

std::map<std::string, at::Tensor> named_adapter_weights(const Transformer& model) {
  std::map<std::string, at::Tensor> weights;
  for (const Linear* linear : model.linears()) {
    if (!linear->lora_A.defined()) continue;
    weights[tensor_name(*linear, "lora_A")] = linear->lora_A;
    weights[tensor_name(*linear, "lora_B")] = linear->lora_B;
  }
  return weights;
}

void save_adapter(const Transformer& model, const LoraConfig& config, const fs::path& folder) {
  std::map<std::string, at::Tensor> weights = named_adapter_weights(model);
  PREDGEN_CHECK(!weights.empty(), "the model has no adapter to save in {}", folder.string());
  for (auto& [name, tensor] : weights) tensor = tensor.detach().to(at::kCPU, at::kFloat);
  make_folder(folder);
  write_safetensors(folder / kWeightsFile, weights);
  write_file(folder / kConfigFile, adapter_config_to_json(config).dump(2));
}

LoraConfig load_adapter(Transformer& model, const fs::path& folder) {
  if (!fs::is_directory(folder)) throw UserError("{}: is not an adapter folder", folder.string());
  const fs::path config_file = folder / kConfigFile, weights_file = folder / kWeightsFile;
  const AdapterConfig config =
      AdapterConfig::from_json(read_json(config_file), config_file.string());
  if (!fs::exists(weights_file) && fs::exists(folder / "adapter_model.bin")) {
    throw UserError("{}: is missing; convert adapter_model.bin to safetensors",
                    weights_file.string());
  }
  const SafetensorsFile file(weights_file);
  std::set<std::string> unused;
  for (const auto& [name, entry] : file.entries()) unused.insert(name);

  const auto take = [&](const std::string& name, at::IntArrayRef shape) {
    if (!unused.erase(name)) {
      throw UserError("{}: has no tensor {}, which \"target_modules\" asks for",
                      weights_file.string(), name);
    }
    const at::Tensor stored = file.tensor(name);
    if (stored.sizes() != shape || !at::isFloatingType(stored.scalar_type())) {
      throw UserError("{}: tensor {} is {} {}, this model and \"r\" need floating-point {}",
                      weights_file.string(), name, at::toString(stored.scalar_type()),
                      c10::str(stored.sizes()), c10::str(shape));
    }
    return stored.to(model.device(), at::kFloat);
  };
  std::vector<std::string> adapted;
  for (Linear* linear : model.linears()) {
    if (!config.matches(linear->name)) continue;
    adapted.push_back(linear->name);
    const int64_t rank = config.lora.rank;
    linear->lora_A = take(tensor_name(*linear, "lora_A"), {rank, linear->weight.size(1)});
    linear->lora_B = take(tensor_name(*linear, "lora_B"), {linear->weight.size(0), rank});
    linear->lora_scaling = config.lora.alpha / static_cast<double>(rank);
    linear->lora_dropout = config.lora.dropout;
  }
  if (adapted.empty()) {
    throw UserError(
        "{}: \"target_modules\" matches no linear layer of this model; its layers are "
        "named like {}",
        config_file.string(), model.linears().front()->name);
  }
  if (!unused.empty()) {
    throw UserError("{}: tensor {} belongs to no adapted layer of this model",
                    weights_file.string(), *unused.begin());
  }
  LoraConfig lora = config.lora;
  if (!config.target_pattern.empty()) lora.target_modules = adapted;
  return lora;
}

void merge_lora(Transformer& model) {
  const at::NoGradGuard no_grad;
  for (Linear* linear : model.linears()) {
    if (!linear->lora_A.defined()) continue;
    const at::Tensor change = linear->lora_B.matmul(linear->lora_A) * linear->lora_scaling;
    linear->weight = (linear->weight.to(at::kFloat) + change).to(linear->weight.scalar_type());
    linear->lora_A = linear->lora_B = at::Tensor();
    linear->lora_scaling = linear->lora_dropout = 0.0;
  }
}

}  // namespace predgen
