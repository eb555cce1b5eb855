#include "runtime/generate/priced_model.h"

namespace predgen {

PricedModel::PricedModel(const LanguageModel& model, VirtualClock* clock, const PassPrice& price)
    : model_(model), clock_(clock), price_(price) {}

at::Tensor PricedModel::forward(const ForwardInput& input, KvCache& cache) const {
  at::Tensor logits_BNV = model_.forward(input, cache);
  ++num_passes_;
  if (clock_ != nullptr) {
    const int64_t num_prefill = input.tokens_BT.size(1) - logits_BNV.size(1);
    clock_->advance(price_.per_pass + price_.per_prefill_token * static_cast<double>(num_prefill));
  }
  return logits_BNV;
}

}  // namespace predgen
