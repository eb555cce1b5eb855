#include "train/objectives/training_pass.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "core/random.h"
#include "train/optim/precision.h"

namespace predgen::train {

TrainingPass::TrainingPass(const Transformer& model, Transformer::Rows rows, uint64_t dropout_seed)
    : model_(model),
      rows_(std::move(rows)),
      dropout_seed_(dropout_seed),
      num_recomputed_(at::GradMode::is_enabled() ? model.num_recomputed() : 0),
      embedded_BTE_(model.embed(rows_)),
      hidden_BTE_(embedded_BTE_) {}

void TrainingPass::run_layer(int64_t index) {
  if (index < num_recomputed_) {
    const NoGradScope no_grad;
    inputs_.push_back(hidden_BTE_.detach());
    hidden_BTE_ = layer(index, hidden_BTE_);
    return;
  }
  if (index == num_recomputed_) begin_graph();
  hidden_BTE_ = layer(index, hidden_BTE_);
}

const at::Tensor& TrainingPass::finish() {
  if (num_recomputed_ == model_.config().num_layers()) begin_graph();
  return hidden_BTE_ = model_.norm(hidden_BTE_);
}

void TrainingPass::begin_graph() {
  if (num_recomputed_ > 0) {
    hidden_BTE_ = boundary_BTE_ = hidden_BTE_.detach().requires_grad_(true);
  }
}

void TrainingPass::backward(const at::Tensor& gradient_BTE) {
  std::exchange(hidden_BTE_, {}).backward(gradient_BTE);
  if (num_recomputed_ > 0) gradient_BTE_ = std::exchange(boundary_BTE_, {}).grad();
}

void TrainingPass::backward_layer(int64_t index) {
  const at::Tensor input_BTE = std::move(inputs_.back());
  inputs_.pop_back();
  if (!gradient_BTE_.defined()) return;
  input_BTE.requires_grad_(index > 0 || embedded_BTE_.requires_grad());
  const at::Tensor output_BTE = layer(index, input_BTE);
  const at::Tensor gradient_BTE = std::exchange(gradient_BTE_, {});
  if (!output_BTE.requires_grad()) return;  // nothing to train in the first layer
  output_BTE.backward(gradient_BTE);
  gradient_BTE_ = input_BTE.grad();
}

void TrainingPass::backward_embedding() {
  if (gradient_BTE_.defined() && embedded_BTE_.requires_grad()) {
    embedded_BTE_.backward(gradient_BTE_);
  }
}

at::Tensor TrainingPass::layer(int64_t index, const at::Tensor& hidden_BTE) {
  if (model_.is_training()) {
    at::manual_seed(Random(dropout_seed_, "layer", static_cast<uint64_t>(index)).next());
  }
  return model_.run_layer(index, hidden_BTE, rows_);
}

}  // namespace predgen::train
