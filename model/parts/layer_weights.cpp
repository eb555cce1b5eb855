#include "model/parts/layer_weights.h"

namespace predgen {
namespace {

std::string module_name(int64_t layer, std::string_view name) {
  return fmt::format("model.layers.{}.{}", layer, name);
}

}  // namespace

std::string weight_name(int64_t layer, const ModuleName& name) {
  return tensor_name(layer, name) + ".weight";
}

std::string tensor_name(int64_t layer, const ModuleName& name) {
  return module_name(layer, name.hugging_face);
}

std::string LayerWeights::folder_module(std::string_view name) const {
  return module_name(layer_, name);
}

std::string LayerWeights::gguf_module(std::string_view name) const {
  return fmt::format("blk.{}.{}", layer_, name);
}

void LayerWeights::add(const ModuleName& name, const Linear& linear) {
  const std::string module = folder_module(name.hugging_face), gguf = gguf_module(name.gguf);
  WeightSpec weight{.name = module + ".weight",
                    .shape = {linear.out, linear.in},
                    .gguf = gguf + ".weight",
                    .input = linear.input,
                    .rotary_rows = linear.rotary_rows,
                    .grouped = linear.grouped};
  all_.push_back(weight);
  if (!linear.has_bias) return;
  weight.name = module + ".bias";
  weight.gguf = gguf + ".bias";
  weight.shape = {linear.out};
  all_.push_back(weight);
}

void LayerWeights::add_tensor(const ModuleName& name, WeightSpec weight) {
  weight.name = tensor_name(layer_, name);
  weight.gguf = gguf_module(name.gguf);
  all_.push_back(std::move(weight));
}

void LayerWeights::add_norm(const ModuleName& name, int64_t size) {
  if (!name) return;
  all_.push_back({.name = weight_name(layer_, name),
                  .shape = {size},
                  .gguf = gguf_module(name.gguf) + ".weight",
                  .is_norm = true});
}

void LayerWeights::add_tensor(const ModuleName& name, std::vector<int64_t> shape, bool is_wide) {
  add_tensor(name, WeightSpec{.name = {}, .shape = std::move(shape), .is_wide = is_wide});
}

Linear LayerSource::linear(std::string_view name) const {
  Linear linear;
  linear.name = module_name(layer_, name);
  linear.weight = weight_(linear.name + ".weight");
  linear.bias = weight_(linear.name + ".bias");
  return linear;
}

at::Tensor LayerSource::norm(const ModuleName& name) const {
  return name ? weight_(weight_name(layer_, name)) : at::Tensor();
}

at::Tensor LayerSource::tensor(const ModuleName& name) const {
  return weight_(tensor_name(layer_, name));
}

}  // namespace predgen
