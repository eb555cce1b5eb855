#include "model/weights/lora.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "model/weights/adapter_config.h"

namespace predgen {
namespace {

void check_targets(const LoraConfig& config, const std::vector<Linear*>& linears) {
  for (const std::string& target : config.target_modules) {
    LoraConfig only;
    only.target_modules = {target};
    const AdapterConfig adapter(only);
    if (std::ranges::none_of(linears,
                             [&](auto* linear) { return adapter.matches(linear->name); })) {
      throw UserError(
          "LoRA target \"{}\" matches no linear layer of this model; its layers are "
          "named like {}, and experts have no adapters",
          target, linears.front()->name);
    }
  }
}

/// `names` are the layers with an adapter.
template <typename T>
void check_pattern(const char* field, const std::vector<std::pair<std::string, T>>& pattern,
                   std::vector<std::string> names) {
  for (const auto& [key, value] : pattern) {
    const NamePattern layer = NamePattern::of_end(key, field, "LoRA");
    if (std::erase_if(names, [&](const auto& name) { return layer.matches(name); }) == 0) {
      throw UserError(
          "LoRA {}: \"{}\" counts for no layer with an adapter: it fits none, or keys "
          "before it fit the same",
          field, key);
    }
  }
}

}  // namespace

LoraConfig with_targets_of(const Transformer& model, LoraConfig config) {
  std::vector<std::string>& names = config.target_modules;
  if (names != std::vector<std::string>{kAllLinear}) return config;
  names.clear();
  for (const Linear* linear : model.linears()) {
    const std::string name = linear->name.substr(linear->name.rfind('.') + 1);
    if (linear->is_module && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return config;
}

void attach_lora(Transformer& model, const LoraConfig& config, uint64_t seed) {
  std::vector<Linear*> linears = model.linears();
  std::erase_if(linears, [](const Linear* linear) { return !linear->is_module; });
  check_targets(config, linears);
  const AdapterConfig adapter(config);
  at::Generator generator = at::detail::createCPUGenerator(seed);
  std::vector<std::string> names;
  for (Linear* linear : linears) {
    if (!adapter.matches(linear->name)) continue;
    names.push_back(linear->name);
    const int64_t out = linear->weight.size(0), in = linear->weight.size(1);
    const int64_t rank = adapter.rank(linear->name);
    const double bound = 1.0 / std::sqrt(static_cast<double>(in));
    linear->lora_A = at::empty({rank, in}, at::kFloat)
                         .uniform_(-bound, bound, generator)
                         .to(model.device())
                         .requires_grad_();
    linear->lora_B = at::zeros({out, rank}, linear->lora_A.options()).requires_grad_();
    linear->lora_scaling = adapter.scaling(linear->name);
    linear->lora_dropout = config.dropout;
  }
  check_pattern("rank_pattern", config.rank_pattern, names);
  check_pattern("alpha_pattern", config.alpha_pattern, names);
}

}  // namespace predgen
