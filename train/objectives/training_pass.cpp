#include "train/objectives/training_pass.h"

#include <ATen/core/grad_mode.h>

#include <limits>

#include "core/random.h"
#include "train/optim/precision.h"

namespace predgen {

TrainingPass::TrainingPass(const Transformer& model, const at::Tensor& tokens_BT,
                           const at::Tensor& positions_BT, const at::Tensor& seen_B1TT)
    : model_(model),
      rows_(model.read_rows(tokens_BT, positions_BT, seen_B1TT)),
      seed_(static_cast<uint64_t>(
          at::randint(std::numeric_limits<int64_t>::max(), {}, at::kLong).item<int64_t>())) {
  const int64_t num_layers = model.config().num_layers;
  const int64_t first_kept = at::GradMode::is_enabled() ? model.num_recomputed() : 0;
  embedded_BTE_ = model.embed(rows_);
  at::Tensor hidden = embedded_BTE_;
  for (int64_t i = 0; i < first_kept; ++i) {
    const NoGradScope no_grad;
    inputs_.push_back(hidden.detach());
    hidden = run_layer(i, hidden);
  }
  if (first_kept > 0) hidden = boundary_BTE_ = hidden.detach().requires_grad_(true);
  for (int64_t i = first_kept; i < num_layers; ++i) hidden = run_layer(i, hidden);
  hidden_BTE_ = model.norm(hidden);
  seed_dropout("after", 0);
}

void TrainingPass::finish_backward() {
  if (inputs_.empty()) return;
  at::Tensor gradient_BTE = boundary_BTE_.grad();
  boundary_BTE_.reset();
  for (auto index = static_cast<int64_t>(inputs_.size()); index-- > 0;) {
    const at::Tensor input = inputs_.back();
    inputs_.pop_back();
    input.requires_grad_(index > 0 || embedded_BTE_.requires_grad());
    const at::Tensor output = run_layer(index, input);
    if (!output.requires_grad()) break;  // nothing to train in the first layer
    output.backward(gradient_BTE);
    gradient_BTE = input.grad();
  }
  if (embedded_BTE_.requires_grad()) embedded_BTE_.backward(gradient_BTE);
  seed_dropout("after", 0);
}

at::Tensor TrainingPass::run_layer(int64_t index, const at::Tensor& hidden_BTE) {
  seed_dropout("layer", index);
  return model_.run_layer(index, hidden_BTE, rows_);
}

void TrainingPass::seed_dropout(const char* purpose, int64_t index) const {
  if (!model_.is_training()) return;
  at::manual_seed(Random(seed_, purpose, static_cast<uint64_t>(index)).next());
}

}  // namespace predgen
