#include "model/cpu/cpu_pass.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "model/cpu/cpu_pass_work.h"
#include "model/parts/transformer_parts.h"
#include "model/pass_tokens.h"

namespace predgen {

bool CpuLayerInputs::read(const LayerInputs& from, const ModelConfig& config,
                          const at::Tensor& embedding) {
  const auto projection = CpuLinear::of(from.projection, /*with_adapter=*/false);
  if (!projection || !is_ready(from.norm, embedding)) return false;
  if (!from.packed && !is_ready(from.embedding, embedding)) return false;
  from_ = &from;
  projection_ = {*projection};
  num_layers_ = config.num_layers();
  width_ = config.layer_input_width;
  eps_ = static_cast<float>(config.rms_norm_eps);
  projected_scale_ = 1.0f / std::sqrt(static_cast<float>(config.hidden_size));
  row_scale_ = static_cast<float>(from.row_scale(config));
  return true;
}

void CpuLayerInputs::prepare(int64_t num_tokens) {
  room(values_, num_tokens * num_layers_ * width_);
  room(rows_, num_tokens * num_layers_ * width_);
}

void CpuLayerInputs::combine(std::span<const PassToken> tokens, int64_t begin, int64_t end,
                             const TokenKernels& kernels) {
  const int64_t width = num_layers_ * width_;
  const float half = std::sqrt(0.5f);
  for (int64_t token = begin; token < end; ++token) {
    const int64_t id = tokens[static_cast<size_t>(token)].id;
    float *const own = values_.data() + token * width, *const row = rows_.data() + token * width;
    if (from_->packed) {
      from_->packed->widen_row(id, row);
    } else {
      const auto bytes = static_cast<int64_t>(from_->embedding.element_size()) * width;
      kernels.load(static_cast<const char*>(from_->embedding.const_data_ptr()) + id * bytes, width,
                   row);
    }
    std::for_each_n(own, width, [&](float& value) { value *= projected_scale_; });
    for (int64_t begin_of_layer = 0; begin_of_layer < width; begin_of_layer += width_) {
      float* const part = own + begin_of_layer;
      kernels.norm(part, from_->norm.const_data_ptr(), 0.0f, width_, eps_, part);
    }
    for (int64_t i = 0; i < width; ++i) own[i] = (own[i] + row[i] * row_scale_) * half;
  }
}

std::string CpuPass::refusal(const ModelConfig& config) {
  std::string_view beyond = beyond_kernels(config);
  for (const LayerSpec& layer : config.layers) {
    if (layer.recurrence && !layer.recurrence->has_cpu_kernels()) beyond = layer.recurrence->name();
    if (layer.attention.shares == kOfAnotherModel) beyond = "keys and values of another model";
  }
  return beyond.empty() ? "" : fmt::format("our kernels for CPUs have no {}", beyond);
}

namespace {

bool take_linear(const Linear& linear, bool with_adapter, CpuLinear& to) {
  const std::optional<CpuLinear> found = CpuLinear::of(linear, with_adapter);
  if (found) to = *found;
  return found.has_value();
}

}  // namespace

bool CpuPass::read_attention(const Attention& attention, bool with_adapter, Layer& to) {
  const std::array<const Linear*, 3> linears{&attention.q, &attention.k, &attention.v};
  to.num_projections = attention.spec.shares >= 0 ? 1 : attention.spec.value_is_key ? 2 : 3;
  for (size_t i = 0; i < to.num_projections; ++i) {
    if (!take_linear(*linears[i], with_adapter, to.qkv.at(i))) return false;
  }
  return take_linear(attention.o, with_adapter, to.o[0]);
}

/// Only what all tokens need: the others are read once they are chosen.
bool CpuPass::read_experts(const Experts& experts, bool with_adapter, Layer& to) {
  const at::Tensor& bias = experts.score_bias;
  const bool has_bias = !bias.defined() ||
                        (bias.is_cpu() && bias.scalar_type() == at::kFloat && bias.is_contiguous());
  if (!has_bias || !take_linear(experts.router, with_adapter, to.router[0])) return false;
  if (!experts.shared) return true;
  return take_linear(experts.shared->gate, with_adapter, to.gate_up[0]) &&
         take_linear(experts.shared->up, with_adapter, to.gate_up[1]) &&
         take_linear(experts.shared->down, with_adapter, to.down[0]) &&
         take_linear(experts.share, with_adapter, to.share[0]);
}

bool CpuPass::read(const TransformerParts& model, bool with_adapter) {
  const at::Tensor& embedding = model.embedding;
  const bool has_type =
      embedding.scalar_type() == at::kFloat || embedding.scalar_type() == at::kBFloat16;
  if (!embedding.is_cpu() || !has_type || !embedding.is_contiguous()) return false;
  if (at::autocast::is_autocast_enabled(at::kCPU)) return false;
  const TokenKernelSet& kernels = token_kernels();
  const auto load =
      embedding.scalar_type() == at::kFloat ? kernels.float32.load : kernels.bfloat16.load;
  const auto take = [&](const Linear& linear, CpuLinear& to) {
    return take_linear(linear, with_adapter, to);
  };
  /// In float32; false if they are not as the kernels read them.
  const auto take_values = [&](const at::Tensor& some, std::vector<float>& to) {
    if (!is_ready(some, embedding)) return false;
    to.resize(some.defined() ? static_cast<size_t>(some.numel()) : 0);
    if (!to.empty()) load(some.const_data_ptr(), std::ssize(to), to.data());
    return true;
  };
  layers_.resize(model.layers.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    const DecoderLayer& from = model.layers[i];
    Layer& to = layers_[i];
    to.weights = &from;
    if (from.recurrence) {
      if (!to.recurrence) to.recurrence = CpuRecurrence::of(*from.recurrence);
      if (!to.recurrence || !to.recurrence->read(with_adapter)) return false;
    } else if (!read_attention(*from.attention, with_adapter, to)) {
      return false;
    }
    if (from.feed_forward) {
      const FeedForward& mlp = *from.feed_forward;
      if (!take(mlp.gate, to.gate_up[0]) || !take(mlp.up, to.gate_up[1]) ||
          !take(mlp.down, to.down[0])) {
        return false;
      }
    }
    if (from.experts && (!read_experts(*from.experts, with_adapter, to) ||
                         !is_ready(from.experts->input_scale, embedding) ||
                         !take_values(from.experts->expert_scale, to.expert_scale))) {
      return false;
    }
    if (from.layer_input && (!take(from.layer_input->gate, to.input_gate[0]) ||
                             !take(from.layer_input->out, to.input_out[0]) ||
                             !is_ready(from.layer_input->norm, embedding))) {
      return false;
    }
    if (from.output_scale.defined()) to.output_scale = from.output_scale.item<float>();
    if (!are_norms_ready(from, embedding)) return false;
    const at::Tensor sinks = from.attention ? from.attention->sinks : at::Tensor();
    if (!take_values(sinks, to.sinks)) return false;
  }
  if (model.layer_inputs != nullptr &&
      !layer_inputs_.read(*model.layer_inputs, model.config, embedding)) {
    return false;
  }
  if (!ones_.defined() || ones_.scalar_type() != embedding.scalar_type()) {
    ones_ = at::ones({2 * model.inverse_frequencies.size(1)}, embedding.options());
  }
  return is_ready(model.final_norm, embedding) && take(model.head, head_[0]);
}

/// T new tokens, N of them with logits requested, E hidden size, D head size.
void CpuPass::prepare(const TransformerParts& model, std::span<const SequenceStep> steps) {
  const ModelConfig& config = model.config;
  const int64_t T = tokens_.size(), E = config.hidden_size;
  int64_t query_width = 0, key_width = 0;  // widths of all heads
  for (const LayerSpec& layer : config.layers) {
    const int64_t D = config.head_dim_of(layer.attention);
    query_width = std::max(query_width, config.num_heads * D);
    key_width = std::max(key_width, config.num_kv_heads_of(layer.attention) * D);
  }
  places_.clear();
  pieces_.clear();
  given_.clear();
  int64_t first = 0;
  for (const SequenceStep& step : steps) {
    const auto count = static_cast<int64_t>(step.tokens.size());
    if (step.hidden_TE != nullptr) *step.hidden_TE = at::empty({count, E}, at::kFloat);
    given_.push_back({first, step.hidden_TE ? step.hidden_TE->mutable_data_ptr<float>() : nullptr});
    first += count;
    pieces_.push_back({places_.size(), 0});
    for (int64_t layer = 0; layer < config.num_row_layers(); ++layer) {
      step.state->pieces(layer, count, of_layer_);
      pieces_.back().count = of_layer_.size();
      for (const auto& [begin, keys, values] : of_layer_) {
        places_.push_back({static_cast<char*>(keys.mutable_data_ptr()),
                           static_cast<char*>(values.mutable_data_ptr()), keys.size(2), begin});
      }
    }
  }
  of_layer_.clear();  // holds no tensor between passes
  const auto rows = [&](std::vector<float>& buffer, int64_t width) { room(buffer, T * width); };
  rows(hidden_, E);
  rows(x_, std::max({E, query_width, prepare_states(config, steps)}));
  if (std::ranges::any_of(config.layers,
                          [](const LayerSpec& layer) { return layer.attention.output_gate; })) {
    rows(opened_, 2 * query_width);
  }
  rows(q_, query_width);
  rows(k_, key_width);
  rows(v_, key_width);
  rows(out_, E);
  rows(cosines_, model.inverse_frequencies.numel());
  rows(sines_, model.inverse_frequencies.numel());
  if (model.layer_inputs != nullptr) {
    layer_inputs_.prepare(T);
    products_.prepare(layer_inputs_.projection(), T);
  }
  for (const Layer& layer : layers_) {
    if (layer.recurrence) {
      products_.prepare(layer.recurrence->inputs(), T);
      products_.prepare(layer.recurrence->output(), T);
    } else {
      products_.prepare(layer.projections(), T);
      products_.prepare(layer.o, T);
    }
    if (layer.weights->experts) {
      experts_.prepare(layer.weights->experts->spec, E, T);
      products_.prepare(layer.router, T);
      if (layer.weights->experts->shared) {
        products_.prepare(layer.share, T);
        rows(shares_, 1);
      } else if (layer.weights->feed_forward) {
        rows(alone_, E);
      } else {
        continue;
      }
    }
    if (layer.weights->layer_input) {
      products_.prepare(layer.input_gate, T);
      products_.prepare(layer.input_out, T);
      rows(gate_, layer.input_out[0].product.in);
    }
    products_.prepare(layer.gate_up, T);
    products_.prepare(layer.down, T);
    rows(gate_, layer.down[0].product.in);
    rows(up_, layer.down[0].product.in);
  }
  const auto N = static_cast<int64_t>(tokens_.wanted().size());
  if (N > 0) products_.prepare(head_, N);
}

int64_t CpuPass::prepare_states(const ModelConfig& config, std::span<const SequenceStep> steps) {
  states_.assign(steps.size(), {});
  parents_.assign(steps.size(), {});
  points_.clear();
  of_steps_.clear();
  int64_t widest = 0;
  if (config.num_states() == 0) return widest;
  const auto num_states = static_cast<size_t>(config.num_states());
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].tree_TT.defined()) parents_[s] = tree_parents(steps[s]);
    for (const int64_t point : snapshot_points(steps[s])) {
      states_[s].push_back({point, std::vector<LayerState>(num_states)});
    }
  }
  size_t total = 0;
  for (const auto& points : states_) total += points.size() * num_states;
  points_.reserve(total);  // spans of it are given away
  size_t place = 0;
  for (const Layer& layer : layers_) {
    if (!layer.recurrence) continue;
    const CpuRecurrence& recurrence = *layer.recurrence;
    widest = std::max(widest, recurrence.output().front().product.in);
    inputs_.resize(std::max(inputs_.size(), recurrence.inputs().size()));
    for (size_t i = 0; i < recurrence.inputs().size(); ++i) {
      room(inputs_[i], tokens_.size() * recurrence.inputs()[i].product.out);
    }
    int64_t first = 0;
    for (size_t s = 0; s < steps.size(); ++s) {
      const size_t begin = points_.size();
      for (NewStates& point : states_[s]) {
        const at::Tensor state =
            at::empty({recurrence.num_units(), recurrence.unit_size()}, at::kFloat);
        points_.push_back({point.num_new, state.mutable_data_ptr<float>()});
        point.layers[place] = {recurrence.shaped(state)};
      }
      const LayerState& before = steps[s].state->state(static_cast<int64_t>(place));
      const auto count = static_cast<int64_t>(steps[s].tokens.size());
      of_steps_.push_back(
          {.first = first,
           .count = count,
           .begin = before.empty() ? nullptr : before.front().const_data_ptr<float>(),
           .points = std::span(points_).subspan(begin),
           .parents = parents_[s]});
      first += count;
    }
    ++place;
  }
  return widest;
}

float* CpuPass::room_for_logits(int64_t V) {
  const auto N = static_cast<int64_t>(tokens_.wanted().size());
  const bool is_free = logits_NV_.defined() && logits_NV_.use_count() == 1 &&
                       logits_NV_.storage().use_count() == 1;  // and no view is held
  if (!is_free || logits_NV_.size(0) != N || logits_NV_.size(1) != V) {
    logits_NV_ = at::empty({N, V}, at::kFloat);
  }
  return logits_NV_.mutable_data_ptr<float>();
}

std::optional<at::Tensor> CpuPass::run(const TransformerParts& model,
                                       std::span<const SequenceStep> steps) {
  const PassGuard guard(is_running_);
  const bool has_masks =
      std::ranges::any_of(steps, [](const SequenceStep& step) { return step.num_masks > 0; });
  if (!read(model, has_masks || !model.adapter_gated)) return {};
  tokens_.read(steps, model.config.vocab_size);
  std::vector<bool> adapted;
  if (model.adapter_gated) {
    for (const PassToken& token : tokens_.tokens()) adapted.push_back(token.is_mask);
  }
  products_.gate_adapters(std::move(adapted));
  prepare(model, steps);
  const int num_threads = at::get_num_threads();
  if (!team_ || team_->size() != num_threads) team_ = std::make_unique<ThreadTeam>(num_threads);
  key_pieces_.resize(static_cast<size_t>(num_threads));
  unit_memory_.resize(static_cast<size_t>(num_threads));
  float* to = room_for_logits(model.config.vocab_size);
  std::atomic<bool> is_whole = true;
  team_->run([&](int thread) {
    if (!Work(*this, model, thread, to).run()) is_whole = false;
  });
  if (!is_whole) return {};  // a chosen expert is not supported
  return logits_NV_;
}

}  // namespace predgen
