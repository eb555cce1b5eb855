#include "model/parts/layer_weights.h"

namespace predgen {
namespace {

std::string module_name(int64_t layer, const ModuleName& name) {
  return fmt::format("model.layers.{}.{}", layer, name.hugging_face);
}

}  // namespace

std::string weight_name(int64_t layer, const ModuleName& name) {
  return module_name(layer, name) + ".weight";
}

void LayerWeights::add(const ModuleName& name, const Linear& linear) {
  const std::string module = module_name(layer_, name);
  const std::string gguf = fmt::format("blk.{}.{}", layer_, name.gguf);
  WeightSpec weight{.name = module + ".weight",
                    .shape = {linear.out, linear.in},
                    .gguf = gguf + ".weight",
                    .input = linear.input,
                    .rotary_rows = linear.rotary_rows};
  all_.push_back(weight);
  if (!linear.has_bias) return;
  weight.name = module + ".bias";
  weight.gguf = gguf + ".bias";
  weight.shape = {linear.out};
  all_.push_back(weight);
}

void LayerWeights::add_norm(const ModuleName& name, int64_t size) {
  if (!name) return;
  all_.push_back({.name = weight_name(layer_, name),
                  .shape = {size},
                  .gguf = fmt::format("blk.{}.{}.weight", layer_, name.gguf),
                  .is_norm = true});
}

Linear LayerSource::linear(const ModuleName& name) const {
  Linear linear;
  linear.name = module_name(layer_, name);
  linear.weight = weight_(linear.name + ".weight");
  linear.bias = weight_(linear.name + ".bias");
  return linear;
}

at::Tensor LayerSource::norm(const ModuleName& name) const {
  return name ? weight_(weight_name(layer_, name)) : at::Tensor();
}

}  // namespace predgen
