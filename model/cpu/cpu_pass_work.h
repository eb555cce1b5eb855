#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "model/cpu/cpu_pass.h"

namespace predgen {

// Shapes: T new tokens, N of them with logits requested, E hidden size, H heads, G key heads, D
// head size, V vocabulary.

/// One thread's share of a pass. Threads split tokens where rows are independent, heads in
/// attention, and outputs in products; they meet at a barrier wherever one reads what another one
/// wrote.
class CpuPass::Work {
 public:
  Work(CpuPass& pass, const TransformerParts& model, int thread, float* logits_NV)
      : pass_(pass),
        config_(model.config),
        model_(model),
        kernels_(model.embedding.scalar_type() == at::kFloat ? token_kernels().float32
                                                             : token_kernels().bfloat16),
        thread_(thread),
        num_tokens_(pass.tokens_.size()),
        own_tokens_(share(num_tokens_, 1, thread, pass.team_->width())),
        logits_NV_(logits_NV) {}

  /// False, in all threads, if the kernels do not support an expert.
  bool run() {
    embed();
    if (model_.layer_inputs != nullptr) find_layer_inputs();
    size_t states = 0;  // place among the layers that keep one
    int64_t index = 0;
    for (const Layer& layer : pass_.layers_) {
      if (layer.recurrence) {
        recur(layer, states++);
      } else {
        attend(layer);
      }
      if (!layer.weights->experts) {
        feed_forward(layer);
      } else if (!mix_experts(layer)) {
        return false;
      }
      if (layer.weights->layer_input) add_layer_input(layer, index);
      scale_hidden(layer.output_scale);
      ++index;
    }
    write_logits();
    return true;
  }

 private:
  using Linears = std::span<const CpuLinear>;

  static const void* data(const at::Tensor& tensor) { return tensor.const_data_ptr(); }
  float* hidden(int64_t token) { return pass_.hidden_.data() + token * config_.hidden_size; }
  float* x() { return pass_.x_.data(); }
  void meet() { pass_.team_->meet(); }

  void norm(const float* from, const at::Tensor& weight, float* to) const {
    kernels_.norm(from, data(weight), static_cast<float>(config_.norm_offset), weight.size(0),
                  static_cast<float>(config_.rms_norm_eps), to);
  }
  void multiply(Linears linears, std::span<float* const> y) {
    pass_.products_.multiply(linears, num_tokens_, y, *pass_.team_, thread_);
    meet();
  }
  void multiply(Linears linears, float* y) { multiply(linears, {&y, 1}); }
  /// Packs `from` [T,..], written by all threads, for `linears`.
  void pack(Linears linears, const float* from) {
    meet();
    pass_.products_.pack(linears, from, num_tokens_, own_tokens_.first, own_tokens_.second);
    meet();
  }
  /// Packs the residual stream for `linears`, after the norm before them if there is one.
  void pack_hidden(Linears linears, const at::Tensor& weight) {
    const auto [begin, end] = own_tokens_;
    const int64_t E = config_.hidden_size;
    for (int64_t token = begin; token < end; ++token) {
      if (weight.defined()) {
        norm(hidden(token), weight, x() + token * E);
      } else {
        std::copy_n(hidden(token), E, x() + token * E);
      }
    }
    pass_.products_.pack(linears, x(), num_tokens_, begin, end);
    meet();
  }
  /// Adds a block's output to the residual stream, after its output norm if there is one.
  void add_to_hidden(const at::Tensor& weight) {
    const int64_t E = config_.hidden_size;
    for (int64_t token = own_tokens_.first; token < own_tokens_.second; ++token) {
      float* out = pass_.out_.data() + token * E;
      if (weight.defined()) norm(out, weight, out);
      kernels_.add(hidden(token), out, 1.0f, E);
    }
  }

  void embed() {
    const int64_t E = config_.hidden_size;
    const float scale = model_.embedding_scale;
    const auto bytes = static_cast<int64_t>(model_.embedding.element_size()) * E;
    for (int64_t i = own_tokens_.first; i < own_tokens_.second; ++i) {
      const PassToken& token = pass_.tokens_.tokens()[static_cast<size_t>(i)];
      if (model_.inputs_TE.defined()) {
        std::copy_n(model_.inputs_TE.const_data_ptr<float>() + i * E, E, hidden(i));
      } else if (model_.packed_embedding != nullptr) {
        model_.packed_embedding->widen_row(token.id, hidden(i));
      } else {
        kernels_.load(static_cast<const char*>(data(model_.embedding)) + token.id * bytes, E,
                      hidden(i));
      }
      if (scale != 1.0f && !model_.inputs_TE.defined())
        std::for_each_n(hidden(i), E, [&](float& value) { value *= scale; });
      for (int64_t rope = 0; rope < config_.num_ropes(); ++rope) write_angles(i, token, rope);
    }
  }

  const RopeConfig& rope_of(int64_t index) const {
    return config_.ropes[static_cast<size_t>(index)];
  }
  int64_t rotary_dim(int64_t rope) const {
    return rope_of(rope).rotary_dim(config_.head_dim_of(rope_of(rope)));
  }
  int64_t num_angles() const { return model_.inverse_frequencies.size(1); }
  /// Index of a token's first angle.
  size_t angles_of(int64_t token, int64_t rope) const {
    return static_cast<size_t>((rope * num_tokens_ + token) * num_angles());
  }
  void write_angles(int64_t index, const PassToken& token, int64_t rope) {
    const auto* frequencies =
        static_cast<const float*>(data(model_.inverse_frequencies)) + rope * num_angles();
    const int64_t half = rotary_dim(rope) / 2;
    const auto factor = static_cast<float>(rope_of(rope).attention_factor);
    float* cosines = pass_.cosines_.data() + angles_of(index, rope);
    float* sines = pass_.sines_.data() + angles_of(index, rope);
    for (int64_t d = 0; d < half; ++d) {
      const float angle = static_cast<float>(token.position) * frequencies[d];
      cosines[d] = std::cos(angle) * factor;
      sines[d] = std::sin(angle) * factor;
    }
  }

  void attend(const Layer& layer);

  void norm_width(std::vector<float>& heads, const at::Tensor& weight);

  /// Of a layer's attention.
  struct Heads {
    int64_t queries, keys, size;  // how many, and their values
    size_t place;                 // where their keys are, among the layers that keep rows
  };

  /// Rotates queries and keys to their positions; writes keys and values to the caches.
  void place_heads(const Attention& weights, const Heads& heads);

  /// Where the pieces of a token's cache are in a layer.
  std::span<const Place> places_of(const PassToken& token, size_t place) const {
    const Pieces& pieces = pass_.pieces_[token.step];
    return std::span(pass_.places_).subspan(pieces.first + place * pieces.count, pieces.count);
  }
  /// Where a head's key or value of a token is stored.
  char* row(int64_t token, const Heads& heads, int64_t head, char* Place::*side) const;
  char* head_rows(const Place& place, const Heads& heads, int64_t head, char* Place::*side) const {
    return place.*side + head * place.head_stride * row_bytes(heads);
  }
  int64_t row_bytes(const Heads& heads) const {
    return heads.size * static_cast<int64_t>(model_.embedding.element_size());
  }

  void attend_heads(const Layer& layer, const Heads& heads);

  /// Multiplies what heads found by the sigmoids of their gates, which lie behind their queries.
  void open_heads(const Heads& heads);

  void recur(const Layer& layer, size_t index) {
    const CpuRecurrence& recurrence = *layer.recurrence;
    pack_hidden(recurrence.inputs(), layer.weights->attention_norm.before);
    std::array<float*, 4> y{};
    for (size_t i = 0; i < recurrence.inputs().size(); ++i) y.at(i) = pass_.inputs_[i].data();
    const std::span<float* const> rows = std::span(y).first(recurrence.inputs().size());
    pass_.products_.multiply(recurrence.inputs(), num_tokens_, rows, *pass_.team_, thread_);
    meet();
    const size_t num_steps = pass_.states_.size();
    const auto steps = std::span(pass_.of_steps_).subspan(index * num_steps, num_steps);
    recurrence.run_share(steps, thread_, pass_.team_->width(), rows, x(),
                         pass_.unit_memory_[static_cast<size_t>(thread_)]);
    pack(recurrence.output(), x());
    multiply(recurrence.output(), pass_.out_.data());
    add_to_hidden(layer.weights->attention_norm.after);
  }

  void feed_forward(const Layer& layer) {
    const DecoderLayer& weights = *layer.weights;
    pack_hidden(layer.gate_up, weights.mlp_norm.before);
    multiply_mlp(layer, weights.feed_forward->spec.activation);
    add_to_hidden(weights.mlp_norm.after);
  }

  /// Of rows packed for `layer.gate_up`.
  void multiply_mlp(const Layer& layer, Activation activation) {
    const int64_t I = layer.down[0].product.in;
    // Not multiply(): each thread gates what it has computed itself.
    float* const y[] = {pass_.gate_.data(), pass_.up_.data()};
    pass_.products_.multiply(layer.gate_up, num_tokens_, y, *pass_.team_, thread_);
    const auto [begin, end] = CpuProducts::outputs(I, *pass_.team_, thread_);
    const GateKernel gate = gate_kernel(kernels_, activation);
    for (int64_t token = 0; token < num_tokens_; ++token) {
      const int64_t place = token * I + begin;
      gate(pass_.gate_.data() + place, pass_.up_.data() + place, end - begin);
    }
    pack(layer.down, pass_.gate_.data());
    multiply(layer.down, pass_.out_.data());
  }

  /// False if the kernels do not support a chosen expert.
  bool mix_experts(const Layer& layer);

  /// What the MLP beside experts makes, with its norm.
  void multiply_mlp_alone(const Layer& layer);

  /// Packs what a router sees that has a scale of its own.
  void pack_routed(Linears router, const at::Tensor& scale);

  void find_layer_inputs() {
    CpuLayerInputs& inputs = pass_.layer_inputs_;
    pack(inputs.projection(), pass_.hidden_.data());
    multiply(inputs.projection(), inputs.values());
    inputs.combine(pass_.tokens_.tokens(), own_tokens_.first, own_tokens_.second, kernels_);
  }

  void add_layer_input(const Layer& layer, int64_t index) {
    const int64_t P = config_.layer_input_width;
    pack_hidden(layer.input_gate, {});
    multiply(layer.input_gate, pass_.gate_.data());
    for (int64_t token = own_tokens_.first; token < own_tokens_.second; ++token) {
      kernels_.gate_gelu(pass_.gate_.data() + token * P, pass_.layer_inputs_.of(token, index), P);
    }
    pack(layer.input_out, pass_.gate_.data());
    multiply(layer.input_out, pass_.out_.data());
    add_to_hidden(layer.weights->layer_input->norm);
  }

  void scale_hidden(float scale) {
    if (scale == 1.0f) return;
    const int64_t E = config_.hidden_size;
    for (int64_t token = own_tokens_.first; token < own_tokens_.second; ++token) {
      std::for_each_n(hidden(token), E, [&](float& value) { value *= scale; });
    }
  }

  void give_hidden() {
    const int64_t E = config_.hidden_size;
    for (int64_t i = own_tokens_.first; i < own_tokens_.second; ++i) {
      const Given& to = pass_.given_[pass_.tokens_.tokens()[static_cast<size_t>(i)].step];
      if (to.to != nullptr) norm(hidden(i), model_.final_norm, to.to + (i - to.first) * E);
    }
  }

  void write_logits() {
    give_hidden();
    meet();
    const int64_t E = config_.hidden_size, N = static_cast<int64_t>(pass_.tokens_.wanted().size());
    if (N == 0) return;
    const auto [begin, end] = share(N, 1, thread_, pass_.team_->width());
    for (int64_t i = begin; i < end; ++i) {
      norm(hidden(pass_.tokens_.wanted()[static_cast<size_t>(i)]), model_.final_norm, x() + i * E);
    }
    pass_.products_.pack(pass_.head_, x(), N, begin, end);
    meet();
    pass_.products_.multiply(pass_.head_, N, {&logits_NV_, 1}, *pass_.team_, thread_);
    if (config_.logit_softcap != 0) cap_logits(N);
  }
  /// Those that this thread has computed itself.
  void cap_logits(int64_t N) const {
    const auto cap = static_cast<float>(config_.logit_softcap);
    const auto [begin, end] = CpuProducts::outputs(config_.vocab_size, *pass_.team_, thread_);
    for (int64_t i = 0; i < N; ++i) {
      float* logits_V = logits_NV_ + i * config_.vocab_size;
      std::transform(logits_V + begin, logits_V + end, logits_V + begin,
                     [&](float logit) { return cap * std::tanh(logit / cap); });
    }
  }

  CpuPass& pass_;
  const ModelConfig& config_;
  const TransformerParts& model_;
  const TokenKernels& kernels_;
  const int thread_;
  const int64_t num_tokens_;
  const std::pair<int64_t, int64_t> own_tokens_;
  float* const logits_NV_;
};

}  // namespace predgen
