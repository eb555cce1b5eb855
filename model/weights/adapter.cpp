#include "model/weights/adapter.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kWeightsFile = "adapter_model.safetensors";
constexpr const char* kPrefix = "base_model.model.";

std::string tensor_name(const Linear& linear, const char* part) {
  return kPrefix + linear.name + "." + part + ".weight";
}

AdapterConfig read_config(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw UserError("{}: is not an adapter folder", folder.string());
  const fs::path file = folder / kConfigFile;
  return AdapterConfig::from_json(read_json(file), file.string());
}

fs::path find_weights(const fs::path& folder) {
  fs::path file = folder / kWeightsFile;
  if (fs::exists(file)) return file;
  for (const char* pickled : {"adapter_model.bin", "pytorch_model.bin"}) {
    if (fs::exists(folder / pickled)) {
      throw UserError(
          "{}: is missing; {} is pickled: convert it with scripts/convert_pickled.py --input {} "
          "--output NEW_FOLDER",
          file.string(), pickled, folder.string());
    }
  }
  throw UserError("{}: no such file", file.string());
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

AdapterFolder::AdapterFolder(const fs::path& folder)
    : folder_(folder), config_(read_config(folder)), file_(find_weights(folder)) {
  for (const auto& [name, entry] : file_.entries()) {
    const std::string where = fmt::format("{}: tensor {}", (folder / kWeightsFile).string(), name);
    if (!at::isFloatingType(entry.dtype) || entry.dtype == at::kDouble) {
      throw UserError("{} is {}; float32, bfloat16 and float16 are supported", where,
                      at::toString(entry.dtype));
    }
    const bool is_lora = name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight");
    const bool is_embedding =
        name.ends_with("embed_tokens.weight") || name.ends_with("lm_head.weight");
    if (is_lora) {
      config_.dtype = entry.dtype;
    } else if (is_embedding && name.starts_with(kPrefix)) {
      if (entry.shape.size() != 2) throw UserError("{} must have two dimensions", where);
      embeddings_[name.substr(std::string_view(kPrefix).size())] = file_.tensor(name);
    } else {
      throw UserError("{} is neither lora_A nor lora_B nor a whole embedding: not supported",
                      where);
    }
  }
  for (const std::string& module : config_.whole_modules) {
    const bool found = std::ranges::any_of(embeddings_, [&](const auto& embedding) {
      return embedding.first.ends_with(module + ".weight");
    });
    if (!found) {
      throw UserError("{}: \"modules_to_save\" names {}, but {} has no such tensor",
                      (folder / kConfigFile).string(), module, kWeightsFile);
    }
  }
}

at::Tensor AdapterFolder::read_embedding(const std::string& name, int64_t begin,
                                         int64_t end) const {
  return file_.read_rows(kPrefix + name, begin, end);
}

at::Tensor AdapterFolder::load_embedding(const std::string& name, at::Device device,
                                         at::ScalarType dtype) const {
  return file_.load(kPrefix + name, device, dtype);
}

void AdapterFolder::attach(Transformer& model) const {
  const std::string weights_file = (folder_ / kWeightsFile).string();
  std::set<std::string> unused;
  for (const auto& [name, entry] : file_.entries()) unused.insert(name);
  for (const auto& [name, tensor] : embeddings_) unused.erase(kPrefix + name);

  const auto take = [&](const std::string& name, at::IntArrayRef shape) {
    if (!unused.erase(name)) {
      throw UserError("{}: has no tensor {}, which \"target_modules\" asks for", weights_file,
                      name);
    }
    const at::Tensor stored = file_.tensor(name);
    if (stored.sizes() != shape) {
      throw UserError("{}: tensor {} is {}, this model and \"r\" need {}", weights_file, name,
                      c10::str(stored.sizes()), c10::str(shape));
    }
    return file_.load(name, model.device(), at::kFloat);
  };
  for (const TokenId token : config_.lora.mask_tokens) {
    if (token >= 0 && token < model.vocab_size()) continue;
    throw UserError("{}: \"mask_tokens\" has {}, the model has {} tokens",
                    (folder_ / kConfigFile).string(), token, model.vocab_size());
  }
  model.set_mask_tokens(config_.lora.mask_tokens);
  bool adapted = false;
  for (Linear* linear : model.linears()) {
    if (!linear->is_module || !config_.matches(linear->name)) continue;
    adapted = true;
    const int64_t rank = config_.rank(linear->name);
    linear->lora_A = take(tensor_name(*linear, "lora_A"), {rank, linear->weight.size(1)});
    linear->lora_B = take(tensor_name(*linear, "lora_B"), {linear->weight.size(0), rank});
    linear->lora_scaling = config_.scaling(linear->name);
    linear->lora_dropout = config_.lora.dropout;
  }
  if (!adapted) {
    throw UserError(
        "{}: \"target_modules\" matches no linear layer of this model; its layers are "
        "named like {}",
        (folder_ / kConfigFile).string(), model.linears().front()->name);
  }
  if (!unused.empty()) {
    throw UserError("{}: tensor {} belongs to no adapted layer of this model", weights_file,
                    *unused.begin());
  }
}

void save_adapter(const Transformer& model, const AdapterConfig& config, const fs::path& folder) {
  std::map<std::string, at::Tensor> weights = named_adapter_weights(model);
  PREDGEN_CHECK(!weights.empty(), "the model has no adapter to save in {}", folder.string());
  for (auto& [name, tensor] : weights) tensor = tensor.detach().to(at::kCPU, config.dtype);
  make_folder(folder);
  write_safetensors(folder / kWeightsFile, weights);
  write_file(folder / kConfigFile, to_text(config.to_json(), 2));
}

}  // namespace predgen
