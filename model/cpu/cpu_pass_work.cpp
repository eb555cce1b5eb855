#include "model/cpu/cpu_pass_work.h"

namespace predgen {

void CpuPass::Work::attend(const Layer& layer) {
  const Attention& weights = *layer.weights->attention;
  const AttentionSpec& spec = weights.spec;
  pack_hidden(layer.projections(), layer.weights->attention_norm.before);
  float* const y[] = {spec.output_gate ? pass_.opened_.data() : pass_.q_.data(), pass_.k_.data(),
                      pass_.v_.data()};
  multiply(layer.projections(), std::span(y).first(layer.num_projections));
  const Heads heads{config_.num_heads, config_.num_kv_heads_of(spec), config_.head_dim_of(spec),
                    static_cast<size_t>(weights.place)};
  if (spec.value_is_key) {
    const int64_t width = heads.keys * heads.size;
    const auto [begin, end] = own_tokens_;
    std::copy(pass_.k_.data() + begin * width, pass_.k_.data() + end * width,
              pass_.v_.data() + begin * width);
    meet();
  }
  if (spec.qk_norm == QkNorm::kWidth) {
    norm_width(pass_.q_, weights.q_norm);
    norm_width(pass_.k_, weights.k_norm);
    meet();
  }
  place_heads(weights, heads);
  meet();
  attend_heads(layer, heads);
  if (spec.output_gate) open_heads(heads);
  pack(layer.o, x());
  multiply(layer.o, pass_.out_.data());
  add_to_hidden(layer.weights->attention_norm.after);
}

void CpuPass::Work::norm_width(std::vector<float>& heads, const at::Tensor& weight) {
  if (!weight.defined()) return;
  const int64_t width = weight.size(0);
  for (int64_t token = own_tokens_.first; token < own_tokens_.second; ++token) {
    norm(heads.data() + token * width, weight, heads.data() + token * width);
  }
}

void CpuPass::Work::place_heads(const Attention& weights, const Heads& heads) {
  const bool has_keys = weights.spec.shares < 0;
  const int64_t H = heads.queries, G = has_keys ? heads.keys : 0, D = heads.size;
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
      kernels_.store(key, D, row(token, heads, head - H, &Place::keys));
    } else {
      float* value = pass_.v_.data() + (token * G + head - H - G) * D;
      if (weights.spec.value_norm) {
        kernels_.norm(value, data(pass_.ones_), 0.0f, D, static_cast<float>(config_.rms_norm_eps),
                      value);
      }
      kernels_.store(value, D, row(token, heads, head - H - G, &Place::values));
    }
  }
}

char* CpuPass::Work::row(int64_t token, const Heads& heads, int64_t head,
                         char* Place::*side) const {
  const PassToken& own = pass_.tokens_.tokens()[static_cast<size_t>(token)];
  const std::span<const Place> places = places_of(own, heads.place);
  auto place = places.end() - 1;
  while (place->begin > own.place) --place;
  return head_rows(*place, heads, head, side) + (own.place - place->begin) * row_bytes(heads);
}

void CpuPass::Work::attend_heads(const Layer& layer, const Heads& heads) {
  const AttentionSpec& spec = layer.weights->attention->spec;
  const int64_t G = heads.keys, D = heads.size, shared = heads.queries / G;
  const double own = spec.query_scalar;
  const auto scalar = static_cast<float>(own > 0 ? own : static_cast<double>(D));
  // Round-robin, as later tokens see more keys.
  for (int64_t i = thread_; i < num_tokens_ * G; i += pass_.team_->width()) {
    const PassToken& token = pass_.tokens_.tokens()[static_cast<size_t>(i / G)];
    TokenAttention attention = pass_.tokens_.seen_by(token, spec.window);
    attention.queries = pass_.q_.data() + i * shared * D;
    std::vector<KeyPiece>& key_pieces = pass_.key_pieces_[static_cast<size_t>(thread_)];
    key_pieces.clear();
    for (const Place& place : places_of(token, heads.place)) {
      key_pieces.push_back({head_rows(place, heads, i % G, &Place::keys),
                            head_rows(place, heads, i % G, &Place::values), place.begin});
    }
    attention.pieces = key_pieces.data();
    attention.num_pieces = std::ssize(key_pieces);
    attention.to = x() + i * shared * D;
    attention.heads = shared;
    attention.head_dim = D;
    const double factor = rope_of(spec.rope).query_scale(token.position);
    attention.scale = static_cast<float>(factor) / std::sqrt(scalar);
    if (!layer.sinks.empty()) attention.sinks = layer.sinks.data() + i % G * shared;
    kernels_.attend(attention);
  }
}

void CpuPass::Work::open_heads(const Heads& heads) {
  meet();
  const int64_t D = heads.size;
  const auto [begin, end] =
      share(num_tokens_ * config_.num_heads, 1, thread_, pass_.team_->width());
  for (int64_t i = begin; i < end; ++i) {
    float *const gate = pass_.opened_.data() + (2 * i + 1) * D, *const found = x() + i * D;
    kernels_.gate_sigmoid(gate, found, D);
    std::copy_n(gate, D, found);
  }
}

bool CpuPass::Work::mix_experts(const Layer& layer) {
  const Experts& experts = *layer.weights->experts;
  CpuExperts& mixed = pass_.experts_;
  const auto [begin, end] = own_tokens_;
  const int64_t E = config_.hidden_size;
  const bool is_beside = layer.weights->feed_forward.has_value();
  if (is_beside) multiply_mlp_alone(layer);
  if (is_beside) {
    pack_routed(layer.router, experts.input_scale);
  } else {
    pack_hidden(layer.router, layer.weights->mlp_norm.before);
  }
  multiply(layer.router, mixed.logits());
  mixed.choose(experts, layer.expert_scale, begin, end);
  meet();
  if (thread_ == 0) mixed.group(experts, num_tokens_);
  meet();
  if (!mixed.is_supported()) return false;
  if (is_beside) {
    for (int64_t token = begin; token < end; ++token) {
      norm(hidden(token), layer.weights->experts_norm.before, x() + token * E);
    }
    meet();
  }
  if (experts.shared) {
    pack(layer.share, x());
    multiply(layer.share, pass_.shares_.data());
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
    if (!is_beside) continue;
    norm(out, layer.weights->experts_norm.after, out);
    kernels_.add(out, pass_.alone_.data() + token * E, 1.0f, E);
  }
  add_to_hidden(layer.weights->mlp_norm.after);
  return true;
}

void CpuPass::Work::multiply_mlp_alone(const Layer& layer) {
  const int64_t E = config_.hidden_size;
  pack_hidden(layer.gate_up, layer.weights->mlp_norm.before);
  multiply_mlp(layer, layer.weights->feed_forward->spec.activation);
  for (int64_t token = own_tokens_.first; token < own_tokens_.second; ++token) {
    norm(pass_.out_.data() + token * E, layer.weights->norm_after_mlp_alone,
         pass_.alone_.data() + token * E);
  }
}

void CpuPass::Work::pack_routed(Linears router, const at::Tensor& scale) {
  const auto [begin, end] = own_tokens_;
  const int64_t E = config_.hidden_size;
  const float root = 1.0f / std::sqrt(static_cast<float>(E));
  for (int64_t token = begin; token < end; ++token) {
    float* const to = x() + token * E;
    kernels_.norm(hidden(token), data(scale), 0.0f, E, static_cast<float>(config_.rms_norm_eps),
                  to);
    std::for_each_n(to, E, [&](float& value) { value *= root; });
  }
  pass_.products_.pack(router, x(), num_tokens_, begin, end);
  meet();
}

}  // namespace predgen
