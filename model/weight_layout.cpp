#include "model/weight_layout.h"

#include "model/model_config.h"
#include "model/parts/decoder_layer.h"
#include "model/parts/layer_inputs.h"
#include "model/parts/mtp_input.h"

namespace predgen {

int64_t num_values(const std::vector<WeightSpec>& weights) {
  int64_t total = 0;
  for (const WeightSpec& weight : weights) {
    int64_t count = 1;
    for (const int64_t size : weight.shape) count *= size;
    total += count;
  }
  return total;
}

std::vector<WeightSpec> weight_layout(const ModelConfig& config) {
  const int64_t E = config.hidden_size;
  std::vector<WeightSpec> weights{
      {.name = kEmbeddingName, .shape = {config.vocab_size, E}, .gguf = "token_embd.weight"}};
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    DecoderLayer::add_weights(config, i, weights);
  }
  weights.push_back({.name = config.final_norm.hugging_face,
                     .shape = {E},
                     .gguf = config.final_norm.gguf,
                     .is_norm = true});
  LayerInputs::add_weights(config, weights);
  if (!config.tie_word_embeddings) {
    weights.push_back({.name = kHeadName, .shape = {config.vocab_size, E}, .gguf = kGgufHeadName});
  }
  if (!config.reads_hidden) return weights;
  for (WeightSpec& weight : weights) {
    weight.name = mtp_name(weight.name);
    weight.folder = mtp_name(weight.folder);
    for (StackedPlace& place : weight.stacked) place.name = mtp_name(place.name);
  }
  MtpInput::add_weights(config, weights);
  return weights;
}

std::vector<WeightSpec> mtp_weights(const ModelConfig& config) {
  const std::optional<ModelConfig> mtp = config.mtp();
  if (!mtp) return {};
  std::vector<WeightSpec> weights = weight_layout(*mtp);
  std::erase_if(weights, [](const WeightSpec& weight) {
    return weight.name == kEmbeddingName || weight.name == kHeadName;
  });
  return weights;
}

std::string mtp_name(std::string name) {
  constexpr std::string_view kLayers = "model.layers.";
  return name.starts_with(kLayers) ? "mtp.layers." + name.substr(kLayers.size()) : name;
}

}  // namespace predgen
