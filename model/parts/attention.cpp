#include "model/parts/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

constexpr ModuleName kSinksTensor{"self_attn.sinks", "attn_sinks.weight"};

// The inputs of linears, as WeightSpec::input numbers them.
constexpr int64_t kAttentionInput = 0, kAttendedInput = 1;

/// scaled_dot_product_attention with the part's scale, cap on scores and sinks. [B,G',T',D]
/// queries, whose H * T rows are in the order of heads.
at::Tensor weigh(const Attention& part, const at::Tensor& queries, const at::Tensor& keys,
                 const at::Tensor& values, const at::Tensor& mask = {}, bool is_causal = false) {
  const AttentionSpec& spec = part.spec;
  const int64_t shared = queries.size(1) / keys.size(1);
  std::optional<double> scale;
  if (spec.query_scalar > 0) scale = 1.0 / std::sqrt(spec.query_scalar);
  if (spec.softcap == 0 && !part.sinks.defined()) {
    return at::scaled_dot_product_attention(
        queries, keys, values, mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, 0.0,
        is_causal, scale, /*enable_gqa=*/shared != 1);
  }
  const auto spread = [&](const at::Tensor& x) {
    return shared == 1 ? x : x.repeat_interleave(shared, 1);
  };
  const at::Tensor products = at::matmul(queries, spread(keys).transpose(-2, -1));
  const double factor = scale.value_or(1.0 / std::sqrt(static_cast<double>(queries.size(-1))));
  at::Tensor scores = soft_cap(products * factor, spec.softcap);
  if (mask.defined()) scores = scores + mask;
  if (is_causal) {
    const at::Tensor later =
        at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  if (part.sinks.defined()) {
    const int64_t tokens = scores.size(1) * scores.size(2) / part.sinks.size(0);
    const at::Tensor sinks = part.sinks.to(scores.scalar_type())
                                 .repeat_interleave(tokens)
                                 .view({1, scores.size(1), scores.size(2), 1})
                                 .expand({scores.size(0), -1, -1, -1});
    scores = at::cat({scores, sinks}, -1);
  }
  const at::Tensor shares =
      at::softmax(scores, -1, at::kFloat).narrow(-1, 0, keys.size(2)).to(values.scalar_type());
  return at::matmul(shares, spread(values));
}

/// [B,H,T,D] queries, [B,G,S,D] keys and values, H a multiple of G, to [B,T,H*D].
at::Tensor attend(const Attention& part, const at::Tensor& queries, const at::Tensor& keys,
                  const at::Tensor& values, const at::Tensor& mask) {
  const int64_t B = queries.size(0), H = queries.size(1), T = queries.size(2), D = queries.size(3);
  const int64_t G = keys.size(1);
  const bool folds = mask.defined() && mask.size(-2) != T;  // see AttentionMasks
  const at::Tensor attended =
      weigh(part, folds ? queries.reshape({B, G, H / G * T, D}) : queries, keys, values, mask,
            /*is_causal=*/!mask.defined() && T > 1);
  return attended.reshape({B, H, T, D}).transpose(1, 2).reshape({B, T, H * D});
}

/// Of the one new token of a model that guesses for another one. Like transformers' sliding mask,
/// a window reaches its whole length back.
at::Tensor attend_to_another(const Attention& part, const at::Tensor& queries_BHTD,
                             int64_t num_kv_heads, const RowsOfAnother* read) {
  if (read == nullptr) {
    const at::Tensor zeros =
        at::zeros({1, num_kv_heads, 1, queries_BHTD.size(-1)}, queries_BHTD.options());
    return attend(part, queries_BHTD, zeros, zeros, {});
  }
  PREDGEN_CHECK(queries_BHTD.size(2) == 1, "{} tokens that read another model's rows",
                queries_BHTD.size(2));
  const auto& [keys, values] = (*read)[static_cast<size_t>(part.place)];
  const int64_t S = keys.size(2);
  const int64_t seen = part.spec.window > 0 ? std::min(S, part.spec.window + 1) : S;
  const auto last = [&](const at::Tensor& rows) {
    return rows.narrow(2, S - seen, seen).to(queries_BHTD.options());
  };
  return attend(part, queries_BHTD, last(keys), last(values), {});
}

}  // namespace

void Attention::add_weights(const ModelConfig& config, const AttentionSpec& spec,
                            LayerWeights& to) {
  const int64_t E = config.hidden_size, D = config.head_dim_of(spec);
  const int64_t Q = config.num_heads * D, K = config.num_kv_heads_of(spec) * D;
  const bool has_keys = spec.shares < 0, has_values = has_keys && !spec.value_is_key;
  const LayerWeights::Linear turned{
      .in = E, .has_bias = spec.qkv_bias, .input = kAttentionInput, .rotary_rows = D};
  LayerWeights::Linear query = turned, key = turned;
  query.out = spec.output_gate ? 2 * Q : Q;
  key.out = K;
  to.add(spec.names.query, query);
  if (has_keys) to.add(spec.names.key, key);
  if (has_values) {
    to.add(spec.names.value,
           {.out = K, .in = E, .has_bias = spec.qkv_bias, .input = kAttentionInput});
  }
  to.add(spec.names.output, {.out = E, .in = Q, .has_bias = spec.o_bias, .input = kAttendedInput});
  if (spec.sinks) to.add_tensor(kSinksTensor, {config.num_heads});
  if (spec.qk_norm == QkNorm::kNone) return;
  const bool by_head = spec.qk_norm == QkNorm::kHead;
  to.add_norm(spec.names.query_norm, by_head ? D : Q);
  if (has_keys) to.add_norm(spec.names.key_norm, by_head ? D : K);
}

Attention::Attention(const AttentionSpec& attention, int64_t place_of_rows,
                     const LayerSource& source)
    : spec(attention), layer(source.layer()), place(place_of_rows) {
  q = source.linear(spec.names.query);
  k = source.linear(spec.names.key);
  v = source.linear(spec.names.value);
  o = source.linear(spec.names.output);
  q_norm = source.norm(spec.names.query_norm);
  k_norm = source.norm(spec.names.key_norm);
  sinks = source.tensor(kSinksTensor);
}

std::vector<Linear*> Attention::linears() {
  if (spec.shares >= 0) return {&q, &o};
  if (spec.value_is_key) return {&q, &k, &o};
  return {&q, &k, &v, &o};
}

std::vector<const Linear*> Attention::linears() const {
  const std::vector<Linear*> all = const_cast<Attention*>(this)->linears();
  return {all.begin(), all.end()};
}

void Attention::add_others(NamedTensors& to) const {
  if (q_norm.defined()) to.emplace_back(weight_name(layer, spec.names.query_norm), q_norm);
  if (k_norm.defined()) to.emplace_back(weight_name(layer, spec.names.key_norm), k_norm);
  if (sinks.defined()) to.emplace_back(tensor_name(layer, kSinksTensor), sinks);
}

at::Tensor Attention::operator()(const ModelConfig& config, const at::Tensor& input_BTE,
                                 std::span<const Rotation> rotations, const at::Tensor& mask,
                                 const at::Tensor& gate_BT1, SharedRows* shared) const {
  return run(config, input_BTE, rotations[static_cast<size_t>(spec.rope)], gate_BT1,
             [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
               if (spec.shares >= 0) {
                 const auto& [their_keys, their_values] = shared->at(place);
                 return attend(*this, queries, their_keys, their_values, mask);
               }
               if (shared != nullptr) (*shared)[place] = {keys, values};
               return attend(*this, queries, keys, values, mask);
             });
}

at::Tensor Attention::operator()(const ModelConfig& config, const at::Tensor& input_1TE,
                                 std::span<const Rotation> rotations,
                                 std::span<CachedRows> sequences,
                                 const at::Tensor& gate_1T1) const {
  return run(config, input_1TE, rotations[static_cast<size_t>(spec.rope)], gate_1T1,
             [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
               std::vector<at::Tensor> attended;
               int64_t begin = 0;
               for (CachedRows& rows : sequences) {
                 const int64_t first = std::exchange(begin, begin + rows.num_new);
                 const auto own = [&](const at::Tensor& all) {
                   return sequences.size() == 1 ? all : all.narrow(2, first, rows.num_new);
                 };
                 if (spec.shares == kOfAnotherModel) {
                   attended.push_back(attend_to_another(*this, own(queries),
                                                        config.num_kv_heads_of(spec), rows.read));
                   continue;
                 }
                 const auto [seen_keys, seen_values] =
                     spec.shares >= 0 ? rows.state->appended(place)
                                      : rows.state->append(place, own(keys), own(values));
                 attended.push_back(
                     attend(*this, own(queries), seen_keys, seen_values, rows.masks(spec.window)));
               }
               return attended.size() == 1 ? attended.front() : at::cat(attended, 1);
             });
}

at::Tensor Attention::run(const ModelConfig& config, const at::Tensor& input_BTE,
                          const Rotation& rotation, const at::Tensor& gate_BT1,
                          const Attend& attend) const {
  const int64_t B = input_BTE.size(0), T = input_BTE.size(1), D = config.head_dim_of(spec);
  const auto normed = [&](const at::Tensor& input, const at::Tensor& weight) {
    return rms_norm(config, input, weight);
  };
  const int64_t H = config.num_heads, G = config.num_kv_heads_of(spec);
  const auto placed = [&](at::Tensor x, const at::Tensor& norm_weight, int64_t count) {
    if (spec.qk_norm == QkNorm::kWidth) x = normed(x, norm_weight);
    x = x.view({B, T, count, D});
    if (spec.qk_norm == QkNorm::kHead) x = normed(x, norm_weight);
    return x.transpose(1, 2);
  };
  at::Tensor asked = q(input_BTE, gate_BT1), opening;
  if (spec.output_gate) {  // by head: a query, and its gate
    const std::vector<at::Tensor> halves = asked.view({B, T, H, 2 * D}).chunk(2, -1);
    asked = halves[0].reshape({B, T, H * D});
    opening = at::sigmoid(halves[1].reshape({B, T, H * D}));
  }
  const at::Tensor queries = rotation.of_queries(placed(asked, q_norm, H));
  at::Tensor keys, values;
  if (spec.shares < 0) {
    const at::Tensor made = k(input_BTE, gate_BT1);
    keys = rotation(placed(made, k_norm, G));
    values = placed(spec.value_is_key ? made : v(input_BTE, gate_BT1), {}, G);
    if (spec.value_norm) values = unit_norm(config, values);
  }
  const at::Tensor attended = attend(queries, keys, values);
  return o(opening.defined() ? attended * opening : attended, gate_BT1);
}

}  // namespace predgen
