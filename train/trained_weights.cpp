#include "train/trained_weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "model/weights/adapter.h"
#include "model/weights/checkpoint.h"
#include "model/weights/safetensors.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {
namespace {

/// generation_config.json, too: it says what ends an answer.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to) {
  const auto copy = [&](std::string_view name) {
    if (!std::filesystem::exists(from / name)) return;
    std::filesystem::copy_file(from / name, to / name,
                               std::filesystem::copy_options::overwrite_existing);
  };
  std::ranges::for_each(tokenizer_file_names(), copy);
  copy("generation_config.json");
}

}  // namespace

TrainedWeights::TrainedWeights(Transformer& model, const TrainConfig& config)
    : model_(model),
      mode_(config.mode),
      lora_(config.lora),
      base_folder_(config.model),
      tokenizer_folder_(config.tokenizer) {
  if (mode_ == TrainMode::kLora) {
    attach_lora(model_, lora_, static_cast<uint64_t>(config.seed));
  }
  for (const Parameter& parameter : parameters()) parameter.tensor.requires_grad_(true);
}

std::vector<Parameter> TrainedWeights::parameters() const {
  std::vector<Parameter> parameters;
  for (const auto& [name, tensor] :
       mode_ == TrainMode::kLora ? named_adapter_weights(model_) : model_.named_weights()) {
    parameters.push_back({name, tensor});
  }
  return parameters;
}

void TrainedWeights::save(const std::filesystem::path& folder, const std::string& dtype) const {
  if (mode_ == TrainMode::kLora) {
    save_adapter(model_, lora_, folder);
  } else {
    save_model(model_, folder, base_folder_, dtype);
    if (base_folder_.empty() && !tokenizer_folder_.empty())
      copy_tokenizer(tokenizer_folder_, folder);
  }
}

void TrainedWeights::load(const std::filesystem::path& folder) {
  const at::NoGradGuard no_grad;
  const auto copy_all = [&](const auto& file) {
    for (const Parameter& parameter : parameters()) {
      const at::Tensor saved = file.tensor(parameter.name);
      if (saved.sizes() != parameter.tensor.sizes() || saved.scalar_type() != at::kFloat) {
        throw UserError("{}: {} does not fit this run's model", folder.string(), parameter.name);
      }
      parameter.tensor.copy_(saved);
    }
  };
  if (mode_ == TrainMode::kLora) {
    const AdapterFolder adapter(folder);
    const SafetensorsFile file(folder / "adapter_model.safetensors");
    const std::vector<const Linear*> linears = std::as_const(model_).linears();
    const bool scales_alike = std::ranges::all_of(linears, [&](const Linear* linear) {
      return !linear->lora_A.defined() ||
             (adapter.config().matches(linear->name) &&
              adapter.config().scaling(linear->name) == linear->lora_scaling);
    });
    if (!scales_alike || file.entries().size() != parameters().size()) {
      throw UserError(
          "{}: the adapter has another rank, alpha or scaling (rsLoRA) or other layers than this "
          "run's",
          folder.string());
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

}  // namespace predgen
