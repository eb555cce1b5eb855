#include "train/objectives/gradients.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "train/objectives/chunked_loss.h"
#include "train/objectives/token_rows.h"
#include "train/objectives/training_pass.h"
#include "train/optim/precision.h"

namespace predgen::train {
namespace {

/// While it lives, the model runs without its adapter and without gradients.
class BaseScope {
 public:
  explicit BaseScope(Transformer& model) : model_(model) { model_.set_adapter_enabled(false); }
  ~BaseScope() { model_.set_adapter_enabled(true); }
  BaseScope(const BaseScope&) = delete;
  BaseScope& operator=(const BaseScope&) = delete;

 private:
  const NoGradScope no_grad_;
  Transformer& model_;
};

/// The passes of one micro-batch: over its rows and, if the base model teaches, over the base's.
class BatchPass {
 public:
  BatchPass(Transformer& model, const PackedBatch& batch, uint64_t dropout_seed)
      : model_(model),
        batch_(batch),
        pass_(model, read_rows(model, batch.rows, batch.segments, batch.gates_adapter),
              dropout_seed) {
    if (batch.base_rows.empty()) return;
    const BaseScope scope(model_);
    base_.emplace(model, read_rows(model, batch.base_rows), dropout_seed);
  }

  void run_layer(int64_t index) {
    pass_.run_layer(index);
    if (!base_) return;
    const BaseScope scope(model_);
    base_->run_layer(index);
  }

  /// After the last layer: adds to `sums`, and runs backward down to the recomputed layers.
  void finish(const LossTerms& denominators, TermSums& sums) {
    const at::Tensor hidden_BTE = pass_.finish();
    at::Tensor base_BTE;
    if (base_) {
      const BaseScope scope(model_);
      base_BTE = base_->finish();
    }
    at::Tensor gradient_NE;
    if (hidden_BTE.requires_grad()) {
      gradient_NE =
          at::zeros(hidden_BTE.sizes(), hidden_BTE.options().dtype(at::kFloat)).flatten(0, 1);
    }
    for (const auto& [name, term] : batch_.terms) {
      const double denominator = denominators.at(name);
      if (term.students.empty() || denominator == 0.0) continue;
      const TaughtRows rows = taught_rows(term, hidden_BTE.detach(), base_BTE);
      at::Tensor own_NE;
      sums.at(name) += chunked_loss(model_, rows, term.weight / denominator,
                                    gradient_NE.defined() ? &own_NE : nullptr);
      if (own_NE.defined())
        gradient_NE.index_add_(
            0, flat_positions(term.students, hidden_BTE.size(1), model_.device()), own_NE);
    }
    if (gradient_NE.defined()) {
      pass_.backward(gradient_NE.view(hidden_BTE.sizes()).to(hidden_BTE.scalar_type()));
    }
  }

  void backward_layer(int64_t index) { pass_.backward_layer(index); }
  void backward_embedding() { pass_.backward_embedding(); }

 private:
  TaughtRows taught_rows(const TaughtTerm& term, const at::Tensor& hidden_BTE,
                         const at::Tensor& base_BTE) const {
    const at::Device device = model_.device();
    const auto at_positions = [&](const at::Tensor& from_BTE,
                                  const std::vector<RowPosition>& positions) {
      return from_BTE.flatten(0, 1).index_select(
          0, flat_positions(positions, from_BTE.size(1), device));
    };
    TaughtRows rows{.students_NE = at_positions(hidden_BTE, term.students),
                    .label_smoothing = term.label_smoothing};
    if (!term.targets.empty()) {
      rows.targets_N = at::tensor(term.targets, at::kLong).to(device);
    } else {
      rows.teachers_NE = at_positions(term.teacher_is_base ? base_BTE : hidden_BTE, term.teachers);
    }
    if (!term.position_weights.empty()) {
      rows.weights_N = at::tensor(term.position_weights, at::kFloat).to(device);
    }
    return rows;
  }

  Transformer& model_;
  const PackedBatch& batch_;
  TrainingPass pass_;
  std::optional<TrainingPass> base_;
};

TermSums no_sums(const Transformer& model, const LossTerms& denominators) {
  TermSums sums;
  for (const auto& [name, denominator] : denominators) {
    sums[name] = at::zeros({}, at::TensorOptions(at::kDouble).device(model.device()));
  }
  return sums;
}

}  // namespace

at::Tensor stack(const TermSums& sums) {
  std::vector<at::Tensor> values;
  for (const auto& [name, sum] : sums) values.push_back(sum);
  return at::stack(values);
}

TermSums accumulate_gradients(Transformer& model, std::span<const PackedBatch> batches,
                              const LossTerms& denominators,
                              std::span<const uint64_t> dropout_seeds) {
  PREDGEN_CHECK(batches.size() == dropout_seeds.size(), "{} batches, {} seeds", batches.size(),
                dropout_seeds.size());
  TermSums sums = no_sums(model, denominators);
  std::vector<BatchPass> passes;
  passes.reserve(batches.size());
  for (size_t i = 0; i < batches.size(); ++i) {
    if (!batches[i].rows.empty()) passes.emplace_back(model, batches[i], dropout_seeds[i]);
  }
  const int64_t num_layers = model.config().num_layers();
  const int64_t num_recomputed = at::GradMode::is_enabled() ? model.num_recomputed() : 0;
  const int64_t num_together = model.has_layer_store() ? num_layers : num_recomputed;
  PREDGEN_CHECK(!at::GradMode::is_enabled() || num_recomputed == num_together,
                "layers that come and go must all be recomputed");
  for (int64_t layer = 0; layer < num_together; ++layer) {
    // The last layer is recomputed first.
    const LayerLease lease = model.lease_layer(layer, std::min(layer + 1, num_layers - 1));
    for (BatchPass& pass : passes) pass.run_layer(layer);
  }
  for (BatchPass& pass : passes) {
    for (int64_t layer = num_together; layer < num_layers; ++layer) pass.run_layer(layer);
    pass.finish(denominators, sums);
  }
  for (int64_t layer = num_recomputed; layer-- > 0;) {
    const LayerLease lease = model.lease_layer(layer, layer - 1);
    for (BatchPass& pass : passes) pass.backward_layer(layer);
  }
  for (BatchPass& pass : passes) pass.backward_embedding();
  return sums;
}

LossTerms evaluate_terms(Transformer& model, const PackedBatch& batch) {
  const NoGradScope no_grad;
  LossTerms denominators, sums;
  for (const auto& [name, term] : batch.terms) denominators[name] = 1.0;
  const uint64_t no_dropout = 0;
  for (const auto& [name, sum] :
       accumulate_gradients(model, {&batch, 1}, denominators, {&no_dropout, 1})) {
    sums[name] = sum.item<double>();
  }
  return sums;
}

}  // namespace predgen::train
