#include "train/objectives/gradients.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "model/transformer.h"
#include "train/distributed/communicator.h"
#include "train/objectives/chunked_loss.h"
#include "train/objectives/objective.h"
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

namespace {

// Shapes: R rows, T tokens of the longest row, N chosen positions.

/// Rows right-padded with token 0, for a pass of `model`, on its device. `segments`: per row, or
/// empty. `gates_adapter`: the adapter applies only in segments.
Transformer::Rows read_rows(const Transformer& model, const std::vector<TokenIds>& rows,
                            const std::vector<std::vector<Segment>>& segments = {},
                            bool gates_adapter = false);

at::Tensor pad_rows(const std::vector<TokenIds>& rows) {
  size_t width = 0;
  for (const TokenIds& row : rows) width = std::max(width, row.size());
  const at::Tensor tokens_RT =
      at::zeros({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)}, at::kLong);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows[i], tokens_RT.mutable_data_ptr<int64_t>() + i * width);
  }
  return tokens_RT;
}

Transformer::Rows read_rows(const Transformer& model, const std::vector<TokenIds>& rows,
                            const std::vector<std::vector<Segment>>& segments, bool gates_adapter) {
  const at::Tensor tokens_RT = pad_rows(rows);
  if (std::ranges::all_of(segments, [](const auto& of_row) { return of_row.empty(); })) {
    return model.read_rows(tokens_RT, {}, {});
  }
  const int64_t R = tokens_RT.size(0), T = tokens_RT.size(1);
  const at::Tensor positions_RT = at::arange(T, at::kLong).repeat({R, 1});
  const at::Tensor seen_RTT = at::ones({T, T}, at::kBool).tril().repeat({R, 1, 1});
  const at::Tensor gate_RT1 = at::zeros({R, T, 1});
  for (int64_t row = 0; row < R; ++row) {
    for (const Segment& segment : segments[static_cast<size_t>(row)]) {
      positions_RT[row].narrow(0, segment.begin, segment.size) -= segment.begin - segment.place;
      seen_RTT[row]
          .narrow(0, segment.begin, segment.size)
          .narrow(1, segment.place, segment.begin - segment.place)
          .fill_(false);
      gate_RT1[row].narrow(0, segment.begin, segment.size).fill_(1);
    }
  }
  Transformer::Rows read = model.read_rows(tokens_RT, positions_RT.to(model.device()),
                                           seen_RTT.unsqueeze(1).to(model.device()));
  if (gates_adapter) read.gate_BT1 = gate_RT1.to(model.device());
  return read;
}

/// Indices of `positions` in the concatenation of rows of `width` tokens, int64 [N].
at::Tensor flat_positions(const std::vector<RowPosition>& positions, int64_t width,
                          at::Device device) {
  std::vector<int64_t> flat;
  flat.reserve(positions.size());
  for (const RowPosition& position : positions) {
    PREDGEN_CHECK(position.column >= 0 && position.column < width, "position {} of {}",
                  position.column, width);
    flat.push_back(position.row * width + position.column);
  }
  return at::tensor(flat, at::kLong).to(device);
}

}  // namespace

LossTerms counts_of(const PackedBatch& batch) {
  LossTerms counts;
  for (const auto& [name, term] : batch.terms) counts[name] = term.count;
  return counts;
}

void add(const LossTerms& more, LossTerms& terms) {
  for (const auto& [name, value] : more) terms[name] += value;
}

void all_reduce(LossTerms& terms, Communicator& communicator) {
  std::vector<double> flat;
  for (const auto& [name, value] : terms) flat.push_back(value);
  const at::Tensor tensor = at::tensor(flat, at::kDouble);
  communicator.all_reduce({tensor});
  const double* next = tensor.const_data_ptr<double>();
  for (auto& [name, value] : terms) value = *next++;
}

LossTerms means_of(const LossTerms& sums, const LossTerms& counts) {
  LossTerms means;
  for (const auto& [name, sum] : sums) {
    if (counts.at(name) > 0) means[name] = sum / counts.at(name);
  }
  return means;
}

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
