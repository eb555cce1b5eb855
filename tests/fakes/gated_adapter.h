#pragma once

#include "model/transformer.h"
#include "model/weights/lora.h"
#include "tests/fakes/tensors.h"

namespace predgen {

/// Attaches an adapter that changes what the model says.
inline void attach_random_lora(Transformer& model, const LoraConfig& config = {}) {
  attach_lora(model, config, 3);
  for (Linear* linear : model.linears()) {
    linear->lora_B.detach_().copy_(normal(linear->lora_B.sizes(), 4) * 0.1);
  }
}

/// Logits [T,V] of a row without a cache, the last `num_masks` tokens of which are masks: the
/// adapter counts for them alone.
inline at::Tensor gated_logits(const Transformer& model, const TokenIds& row, int64_t num_masks) {
  Transformer::Rows rows = model.read_rows(at::tensor(row, at::kLong).unsqueeze(0), {}, {});
  rows.gate_BT1 =
      at::cat({at::zeros({1, std::ssize(row) - num_masks, 1}), at::ones({1, num_masks, 1})}, 1);
  at::Tensor hidden = model.embed(rows);
  for (int64_t layer = 0; layer < model.config().num_layers(); ++layer) {
    hidden = model.run_layer(layer, hidden, rows);
  }
  return model.logits(model.norm(hidden))[0];
}

}  // namespace predgen
