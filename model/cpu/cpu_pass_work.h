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
    size_t rows = 0, states = 0;  // places among the layers of each kind
    for (const Layer& layer : pass_.layers_) {
      if (layer.recurrence) {
        recur(layer, states++);
      } else {
        attend(layer, rows++);
      }
      if (layer.weights->feed_forward) {
        feed_forward(layer);
      } else if (!mix_experts(layer)) {
        return false;
      }
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
  void multiply(Linears linears, std::initializer_list<float*> y) {
    pass_.products_.multiply(linears, num_tokens_, y, *pass_.team_, thread_);
    meet();
  }
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
      if (model_.packed_embedding != nullptr) {
        model_.packed_embedding->widen_row(token.id, hidden(i));
      } else {
        kernels_.load(static_cast<const char*>(data(model_.embedding)) + token.id * bytes, E,
                      hidden(i));
      }
      if (scale != 1.0f) std::for_each_n(hidden(i), E, [&](float& value) { value *= scale; });
      for (int64_t rope = 0; rope < config_.num_ropes(); ++rope) write_angles(i, token, rope);
    }
  }

  int64_t rotary_dim(int64_t rope) const {
    return config_.ropes[static_cast<size_t>(rope)].rotary_dim(config_.head_dim);
  }
  /// Index of a token's first angle.
  size_t angles_of(int64_t token, int64_t rope) const {
    return static_cast<size_t>((rope * num_tokens_ + token) * (config_.head_dim / 2));
  }
  void write_angles(int64_t index, const PassToken& token, int64_t rope) {
    const auto* frequencies =
        static_cast<const float*>(data(model_.inverse_frequencies)) + rope * (config_.head_dim / 2);
    const int64_t half = rotary_dim(rope) / 2;
    const auto factor =
        static_cast<float>(config_.ropes[static_cast<size_t>(rope)].attention_factor);
    float* cosines = pass_.cosines_.data() + angles_of(index, rope);
    float* sines = pass_.sines_.data() + angles_of(index, rope);
    for (int64_t d = 0; d < half; ++d) {
      const float angle = static_cast<float>(token.position) * frequencies[d];
      cosines[d] = std::cos(angle) * factor;
      sines[d] = std::sin(angle) * factor;
    }
  }

  void attend(const Layer& layer, size_t index) {
    const Attention& weights = *layer.weights->attention;
    pack_hidden(layer.qkv, layer.weights->attention_norm.before);
    const bool has_gate = weights.spec.output_gate;
    multiply(layer.qkv,
             {has_gate ? pass_.opened_.data() : pass_.q_.data(), pass_.k_.data(), pass_.v_.data()});
    if (weights.spec.qk_norm == QkNorm::kWidth) {
      norm_width(pass_.q_, weights.q_norm, config_.num_heads);
      norm_width(pass_.k_, weights.k_norm, config_.num_kv_heads);
      meet();
    }
    place_heads(weights, index);
    meet();
    attend_heads(weights, index);
    if (has_gate) open_heads();
    pack(layer.o, x());
    multiply(layer.o, {pass_.out_.data()});
    add_to_hidden(layer.weights->attention_norm.after);
  }

  void norm_width(std::vector<float>& heads, const at::Tensor& weight, int64_t count) {
    if (!weight.defined()) return;
    const int64_t width = count * config_.head_dim;
    for (int64_t token = own_tokens_.first; token < own_tokens_.second; ++token) {
      norm(heads.data() + token * width, weight, heads.data() + token * width);
    }
  }

  /// Rotates queries and keys to their positions; writes keys and values to the caches.
  void place_heads(const Attention& weights, size_t index) {
    const int64_t H = config_.num_heads, G = config_.num_kv_heads, D = config_.head_dim;
    const auto [begin, end] = share(num_tokens_ * (H + 2 * G), 1, thread_, pass_.team_->width());
    const bool norms_heads = weights.spec.qk_norm == QkNorm::kHead;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t token = i / (H + 2 * G), head = i % (H + 2 * G);
      const auto turn = [&](float* x, const at::Tensor& weight) {
        const size_t angles = angles_of(token, weights.spec.rope);
        if (norms_heads && weight.defined()) norm(x, weight, x);
        kernels_.rotate(x, pass_.cosines_.data() + angles, pass_.sines_.data() + angles,
                        rotary_dim(weights.spec.rope));
        return x;
      };
      if (head < H) {
        if (weights.spec.output_gate) {
          std::copy_n(pass_.opened_.data() + (token * H + head) * 2 * D, D,
                      pass_.q_.data() + (token * H + head) * D);
        }
        turn(pass_.q_.data() + (token * H + head) * D, weights.q_norm);
      } else if (head < H + G) {
        const float* key = turn(pass_.k_.data() + (token * G + head - H) * D, weights.k_norm);
        kernels_.store(key, D, row(token, index, head - H, &Place::keys));
      } else {
        const float* value = pass_.v_.data() + (token * G + head - H - G) * D;
        kernels_.store(value, D, row(token, index, head - H - G, &Place::values));
      }
    }
  }

  /// Where the pieces of a token's cache are in a layer.
  std::span<const Place> places_of(const PassToken& token, size_t index) const {
    const Pieces& pieces = pass_.pieces_[token.step];
    return std::span(pass_.places_).subspan(pieces.first + index * pieces.count, pieces.count);
  }
  /// Where a head's key or value of a token is stored.
  char* row(int64_t token, size_t index, int64_t head, char* Place::*side) const {
    const PassToken& own = pass_.tokens_.tokens()[static_cast<size_t>(token)];
    const std::span<const Place> places = places_of(own, index);
    auto place = places.end() - 1;
    while (place->begin > own.place) --place;
    return head_rows(*place, head, side) + (own.place - place->begin) * row_bytes();
  }
  char* head_rows(const Place& place, int64_t head, char* Place::*side) const {
    return place.*side + head * place.head_stride * row_bytes();
  }
  int64_t row_bytes() const {
    return config_.head_dim * static_cast<int64_t>(model_.embedding.element_size());
  }

  void attend_heads(const Attention& weights, size_t index) {
    const int64_t G = config_.num_kv_heads, D = config_.head_dim, shared = config_.num_heads / G;
    const double own = weights.spec.query_scalar;
    const auto scalar = static_cast<float>(own > 0 ? own : static_cast<double>(D));
    // Round-robin, as later tokens see more keys.
    for (int64_t i = thread_; i < num_tokens_ * G; i += pass_.team_->width()) {
      const PassToken& token = pass_.tokens_.tokens()[static_cast<size_t>(i / G)];
      TokenAttention attention = pass_.tokens_.seen_by(token, weights.spec.window);
      attention.queries = pass_.q_.data() + i * shared * D;
      std::vector<KeyPiece>& key_pieces = pass_.key_pieces_[static_cast<size_t>(thread_)];
      key_pieces.clear();
      for (const Place& place : places_of(token, index)) {
        key_pieces.push_back({head_rows(place, i % G, &Place::keys),
                              head_rows(place, i % G, &Place::values), place.begin});
      }
      attention.pieces = key_pieces.data();
      attention.num_pieces = std::ssize(key_pieces);
      attention.to = x() + i * shared * D;
      attention.heads = shared;
      attention.head_dim = D;
      const RopeConfig& rope = config_.ropes[static_cast<size_t>(weights.spec.rope)];
      attention.scale = static_cast<float>(rope.query_scale(token.position)) / std::sqrt(scalar);
      const std::vector<float>& sinks = pass_.layers_[index].sinks;
      if (!sinks.empty()) attention.sinks = sinks.data() + i % G * shared;
      kernels_.attend(attention);
    }
  }

  /// Multiplies what heads found by the sigmoids of their gates, which lie behind their queries.
  void open_heads() {
    meet();
    const int64_t D = config_.head_dim;
    const auto [begin, end] =
        share(num_tokens_ * config_.num_heads, 1, thread_, pass_.team_->width());
    for (int64_t i = begin; i < end; ++i) {
      float *const gate = pass_.opened_.data() + (2 * i + 1) * D, *const found = x() + i * D;
      kernels_.gate_sigmoid(gate, found, D);
      std::copy_n(gate, D, found);
    }
  }

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
    multiply(recurrence.output(), {pass_.out_.data()});
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
    multiply(layer.down, {pass_.out_.data()});
  }

  /// False if the kernels do not support a chosen expert.
  bool mix_experts(const Layer& layer) {
    const Experts& experts = *layer.weights->experts;
    CpuExperts& mixed = pass_.experts_;
    const auto [begin, end] = own_tokens_;
    const int64_t E = config_.hidden_size;
    pack_hidden(layer.router, layer.weights->mlp_norm.before);
    multiply(layer.router, {mixed.logits()});
    mixed.choose(experts, begin, end);
    meet();
    if (thread_ == 0) mixed.group(experts, num_tokens_);
    meet();
    if (!mixed.is_supported()) return false;
    if (experts.shared) {
      pack(layer.share, x());
      multiply(layer.share, {pass_.shares_.data()});
      pack(layer.gate_up, x());
      multiply_mlp(layer, experts.spec.activation);
    }
    mixed.run(experts, x(), kernels_, *pass_.team_, thread_);
    for (int64_t token = begin; token < end; ++token) {
      float* out = pass_.out_.data() + token * E;
      const float share = pass_.shares_.empty() ? 0.0f : pass_.shares_[static_cast<size_t>(token)];
      const float factor = experts.shared ? 1.0f / (1.0f + std::exp(-share)) : 0.0f;
      if (experts.shared) {
        std::for_each_n(out, E, [&](float& value) { value *= factor; });
      } else {
        std::fill_n(out, E, 0.0f);
      }
      mixed.add_outputs(token, kernels_, out);
    }
    add_to_hidden(layer.weights->mlp_norm.after);
    return true;
  }

  void write_logits() {
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
