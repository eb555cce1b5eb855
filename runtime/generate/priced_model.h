#pragma once

#include <cstdint>

#include "core/clock.h"
#include "model/language_model.h"

namespace predgen {

/// What a forward pass costs on a virtual clock that runs by cost table.
struct PassPrice {
  Seconds per_pass{0};
  Seconds per_prefill_token{0};  // tokens whose logits are not asked for
};

/// Counts the forward passes of another model and charges them to a virtual clock. A clock that
/// measures has counted them already: advance() does nothing then. Borrows both.
class PricedModel : public LanguageModel {
 public:
  /// `clock` may be null: only counting.
  PricedModel(const LanguageModel& model, VirtualClock* clock, const PassPrice& price);

  int64_t vocab_size() const override { return model_.vocab_size(); }
  int64_t max_positions() const override { return model_.max_positions(); }
  std::unique_ptr<KvCache> make_cache(int64_t batch_size, int64_t capacity) const override {
    return model_.make_cache(batch_size, capacity);
  }
  at::Tensor forward(const ForwardInput& input, KvCache& cache) const override;

  int64_t num_passes() const { return num_passes_; }

 private:
  const LanguageModel& model_;
  VirtualClock* clock_;
  PassPrice price_;
  mutable int64_t num_passes_ = 0;
};

}  // namespace predgen
