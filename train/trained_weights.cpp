#include "train/trained_weights.h"

#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "checkpoint/save_model.h"
#include "core/error.h"
#include "model/model_config.h"
#include "model/weights/adapter.h"
#include "tensors/safetensors.h"

namespace predgen::train {
namespace {

/// UserError if an adapter with this configuration differs from the model's in shape or scaling.
void check_same_adapter(const AdapterConfig& saved, const LoraConfig& trained,
                        const Transformer& model, const std::filesystem::path& folder) {
  const std::string file = (folder / "adapter_config.json").string();
  if (saved.lora.mask_tokens != trained.mask_tokens) {
    throw UserError("{}: has mask_tokens [{}], this run [{}]: start from an adapter with the same",
                    file, fmt::join(saved.lora.mask_tokens, ", "),
                    fmt::join(trained.mask_tokens, ", "));
  }
  for (const Linear* linear : model.linears()) {
    const bool has_adapter = linear->lora_A.defined();
    if (saved.matches(linear->name) != has_adapter) {
      throw UserError("{}: {} has {} adapter there, {} here: set lora.targets as there", file,
                      linear->name, has_adapter ? "no" : "an", has_adapter ? "one" : "none");
    }
    if (!has_adapter) continue;
    if (saved.rank(linear->name) != linear->lora_A.size(0)) {
      throw UserError(
          "{}: {} has rank {} there, {} here: set lora.rank and lora.rank_pattern as there", file,
          linear->name, saved.rank(linear->name), linear->lora_A.size(0));
    }
    if (saved.scaling(linear->name) != linear->lora_scaling) {
      throw UserError(
          "{}: {} has scaling {:.6g} there, {:.6g} here: set lora.alpha, lora.alpha_pattern and "
          "lora.use_rslora as there",
          file, linear->name, saved.scaling(linear->name), linear->lora_scaling);
    }
  }
}

}  // namespace

TrainedWeights::TrainedWeights(Transformer& model, const TrainConfig& config)
    : model_(model),
      mode_(config.mode),
      lora_(with_targets_of(model, config.lora)),
      base_path_(config.model),
      tokenizer_path_(config.tokenizer) {
  if (mode_ == TrainMode::kLora) {
    attach_lora(model_, lora_, static_cast<uint64_t>(config.seed));
  }
  for (const Parameter& parameter : parameters()) parameter.tensor.requires_grad_(true);
}

std::vector<Parameter> TrainedWeights::parameters() const {
  std::map<std::string, at::Tensor> tensors =
      mode_ == TrainMode::kLora ? named_adapter_weights(model_) : model_.named_weights();
  for (const WeightSpec& weight : weight_layout(model_.config())) {
    if (weight.is_buffer) tensors.erase(weight.name);
  }
  std::vector<Parameter> parameters;
  for (const auto& [name, tensor] : tensors) parameters.push_back({name, tensor});
  return parameters;
}

void TrainedWeights::save(const std::filesystem::path& folder, const std::string& dtype) const {
  if (mode_ == TrainMode::kLora) {
    AdapterConfig written(lora_);
    if (dtype == "bf16") written.dtype = at::kBFloat16;
    save_adapter(model_, written, folder);
  } else {
    const std::unique_ptr<const Checkpoint> base =
        base_path_.empty() ? nullptr : open_checkpoint(base_path_);
    save_model(model_, folder, base.get(), dtype);
    if (!base && !tokenizer_path_.empty()) {
      const std::unique_ptr<const Checkpoint> texts = open_checkpoint(tokenizer_path_);
      texts->copy_files(CopiedFiles::kTokenizer, folder);
      texts->copy_files(CopiedFiles::kGeneration, folder);  // it says what ends an answer
    }
  }
}

void TrainedWeights::load(const std::filesystem::path& folder) {
  const at::NoGradGuard no_grad;
  const auto copy_all = [&](const auto& file) {
    for (const Parameter& parameter : parameters()) {
      const at::Tensor saved = file.tensor(parameter.name);
      if (saved.sizes() != parameter.tensor.sizes()) {
        throw UserError("{}: {} does not fit this run's model", folder.string(), parameter.name);
      }
      parameter.tensor.copy_(saved);
    }
  };
  if (mode_ == TrainMode::kLora) {
    const AdapterFolder adapter(folder);
    if (!adapter.embeddings().empty()) {
      throw UserError("{}: has {} whole, and training changes no embeddings", folder.string(),
                      adapter.embeddings().begin()->first);
    }
    check_same_adapter(adapter.config(), lora_, model_, folder);
    const SafetensorsFile file(folder / "adapter_model.safetensors");
    if (file.entries().size() != parameters().size()) {
      throw UserError("{}: has {} tensors, this run's adapter {}: it belongs to another model",
                      folder.string(), file.entries().size(), parameters().size());
    }
    copy_all(file);
  } else {
    copy_all(SafetensorsFolder(folder));
  }
}

void TrainedWeights::check_first_gradients() const {
  for (const Parameter& parameter : parameters()) {
    const at::Tensor gradient = parameter.tensor.grad();
    if (!at::isfinite(gradient).all().item<bool>()) {
      throw Error("the first gradient of {} is not finite", parameter.name);
    }
    const bool may_be_zero =
        mode_ == TrainMode::kLora && parameter.name.find("lora_B") == std::string::npos;
    if (!may_be_zero && (gradient == 0).all().item<bool>()) {
      throw Error("{} gets no gradient: it is cut off from the loss", parameter.name);
    }
  }
}

}  // namespace predgen::train
