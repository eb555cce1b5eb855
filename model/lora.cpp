#include "model/lora.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "core/error.h"

namespace predgen {

void attach_lora(Transformer& model, const LoraConfig& config, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const std::string& target : config.target_modules) {
    bool matched = false;
    for (Linear* linear : model.linears()) {
      if (linear->name != target && !linear->name.ends_with("." + target)) continue;
      matched = true;
      const int64_t out = linear->weight.size(0), in = linear->weight.size(1);
      const double bound = 1.0 / std::sqrt(static_cast<double>(in));
      linear->lora_A = at::empty({config.rank, in}, at::kFloat)
                           .uniform_(-bound, bound, generator)
                           .to(model.device())
                           .requires_grad_();
      linear->lora_B = at::zeros({out, config.rank}, linear->lora_A.options()).requires_grad_();
      linear->lora_scaling = config.alpha / static_cast<double>(config.rank);
      linear->lora_dropout = config.dropout;
    }
    if (!matched) {
      throw UserError(
          "LoRA target \"{}\" matches no linear layer of this model; its layers are "
          "named like {}",
          target, model.linears().front()->name);
    }
  }
}

}  // namespace predgen
