#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/layer_spec.h"
#include "model/linear.h"
#include "model/model_config.h"

namespace predgen {

/// A tensor by its Hugging Face name; undefined if the model has none of that name.
using WeightByName = std::function<at::Tensor(const std::string& name)>;

/// Collects what the parts of a layer have in a checkpoint.
class LayerWeights {
 public:
  /// Appends to `weights`.
  LayerWeights(int64_t layer, std::vector<WeightSpec>& weights) : layer_(layer), all_(weights) {}

  struct Linear {
    int64_t out = 0, in = 0;
    bool has_bias = false;
    int64_t input = 0;        // WeightSpec::input
    int64_t rotary_rows = 0;  // WeightSpec::rotary_rows
    std::optional<GroupedHeads> grouped{};
  };
  void add(const ModuleName& name, const Linear& linear);
  /// Any other tensor; the names are whole, without the layer's.
  void add_tensor(const ModuleName& name, std::vector<int64_t> shape, bool is_wide = false);
  /// The same of which `weight` says more.
  void add_tensor(const ModuleName& name, WeightSpec weight);
  void add(WeightSpec weight) { all_.push_back(std::move(weight)); }
  /// The name of a layer's module.
  std::string folder_module(std::string_view name) const;
  std::string gguf_module(std::string_view name) const;
  /// A norm over `size` values.
  void add_norm(const ModuleName& name, int64_t size);

 private:
  const int64_t layer_;
  std::vector<WeightSpec>& all_;
};

/// Gives a layer's parts their tensors.
class LayerSource {
 public:
  LayerSource(int64_t layer, const WeightByName& weight) : layer_(layer), weight_(weight) {}

  int64_t layer() const { return layer_; }
  Linear linear(const ModuleName& name) const { return linear(name.hugging_face); }
  Linear linear(std::string_view name) const;
  /// Undefined if the layer has none.
  at::Tensor tensor(const ModuleName& name) const;
  /// Undefined if the layer has none.
  at::Tensor norm(const ModuleName& name) const;

 private:
  const int64_t layer_;
  const WeightByName& weight_;
};

/// Tensors by their Hugging Face names.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// The Hugging Face name of a layer's tensor (LayerWeights::add_tensor()).
std::string tensor_name(int64_t layer, const ModuleName& name);
/// The Hugging Face name of the weight of a layer's module.
std::string weight_name(int64_t layer, const ModuleName& name);

}  // namespace predgen
