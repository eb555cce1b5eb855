#include "model/decoder_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "kernels/row_tiles.h"

namespace predgen {
namespace {

std::string layer_name(int64_t index, const char* part) {
  return fmt::format("model.layers.{}.{}", index, part);
}

/// Rotates pairs (x[i], x[i + D/2]), the layout of Hugging Face checkpoints.
at::Tensor rotate(const at::Tensor& x_BHTD, const Rotation& rotation) {
  const auto halves = x_BHTD.chunk(2, -1);
  return x_BHTD * rotation.cos + at::cat({halves[1], halves[0]}, -1) * rotation.signed_sin;
}

/// scaled_dot_product_attention with the block's scale and cap on scores.
at::Tensor weigh(const BlockSpec& block, const at::Tensor& queries, const at::Tensor& keys,
                 const at::Tensor& values, const at::Tensor& mask = {}, bool is_causal = false) {
  const int64_t shared = queries.size(1) / keys.size(1);
  std::optional<double> scale;
  if (block.query_scalar > 0) scale = 1.0 / std::sqrt(block.query_scalar);
  if (block.attention_softcap == 0) {
    return at::scaled_dot_product_attention(
        queries, keys, values, mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, 0.0,
        is_causal, scale, /*enable_gqa=*/shared != 1);
  }
  const auto spread = [&](const at::Tensor& x) {
    return shared == 1 ? x : x.repeat_interleave(shared, 1);
  };
  const at::Tensor products = at::matmul(queries, spread(keys).transpose(-2, -1));
  const double factor = scale.value_or(1.0 / std::sqrt(static_cast<double>(queries.size(-1))));
  at::Tensor scores = soft_cap(products * factor, block.attention_softcap);
  if (mask.defined()) scores = scores + mask;
  if (is_causal) {
    const at::Tensor later =
        at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::softmax(scores, -1, at::kFloat).to(values.scalar_type()), spread(values));
}

/// [B,H,T,D] queries, [B,G,S,D] keys and values, H a multiple of G, to [B,T,H*D].
at::Tensor attend(const BlockSpec& block, const at::Tensor& queries, const at::Tensor& keys,
                  const at::Tensor& values, const at::Tensor& mask) {
  const int64_t B = queries.size(0), H = queries.size(1), T = queries.size(2), D = queries.size(3);
  const int64_t G = keys.size(1);
  const bool folds = mask.defined() && mask.size(-2) != T;  // see AttentionMasks
  const at::Tensor attended =
      weigh(block, folds ? queries.reshape({B, G, H / G * T, D}) : queries, keys, values, mask,
            /*is_causal=*/!mask.defined() && T > 1);
  return attended.reshape({B, H, T, D}).transpose(1, 2).reshape({B, T, H * D});
}

/// Runs each of the queries [1,H,T,D] separately over the keys and values [1,G,S,D] that it sees:
/// the same call as in a pass over this token alone, whatever else the pass holds.
at::Tensor attend_one_by_one(const BlockSpec& block, const at::Tensor& queries,
                             const at::Tensor& keys, const at::Tensor& values,
                             const CachedRows& rows, int64_t window) {
  const int64_t H = queries.size(1), T = queries.size(2), D = queries.size(3);
  const int64_t G = keys.size(1), past = keys.size(2) - T;
  std::vector<at::Tensor> attended;
  for (int64_t i = 0; i < T; ++i) {
    const auto seen = [&](const at::Tensor& all) {
      const at::Tensor some = rows.paths.empty()
                                  ? all.narrow(2, 0, past + i + 1)
                                  : all.index_select(2, rows.paths[static_cast<size_t>(i)]);
      const int64_t count = window > 0 ? std::min(window, some.size(2)) : some.size(2);
      return some.narrow(2, some.size(2) - count, count);
    };
    // Heads that share keys become further queries: much faster on a CPU.
    const at::Tensor query = queries.narrow(2, i, 1).reshape({1, G, H / G, D});
    attended.push_back(weigh(block, query, seen(keys), seen(values)).reshape({1, 1, H * D}));
  }
  return at::cat(attended, 1);
}

}  // namespace

Rotation::Rotation(const RopeConfig& rope, const at::Tensor& inverse_frequencies,
                   const at::Tensor& positions_BT, at::ScalarType type) {
  const at::Tensor angles = positions_BT.to(at::kFloat).unsqueeze(-1) * inverse_frequencies;
  const auto scaled = [&](const at::Tensor& first_half, const at::Tensor& second_half) {
    const at::Tensor wave = at::cat({first_half, second_half}, -1);
    const double factor = rope.attention_factor;
    return (factor == 1.0 ? wave : wave * factor).unsqueeze(1).to(type);
  };
  const at::Tensor cosines = at::cos(angles), sines = at::sin(angles);
  cos = scaled(cosines, cosines);
  signed_sin = scaled(-sines, sines);
}

std::vector<Rotation> make_rotations(const BlockSpec& block, const at::Tensor& inverse_frequencies,
                                     const at::Tensor& positions_BT, at::ScalarType type) {
  std::vector<Rotation> rotations;
  for (int64_t i = 0; i < block.num_ropes(); ++i) {
    rotations.emplace_back(block.rope_at(i), inverse_frequencies[i], positions_BT, type);
  }
  return rotations;
}

at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight,
                    bool width_invariant) {
  if (!weight.defined()) return input;
  if (width_invariant && input.is_cuda()) {
    return in_row_tiles(input, kTileRows,
                        [&](const at::Tensor& tile) { return rms_norm(config, tile, weight); });
  }
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, true) + config.rms_norm_eps);
  const double offset = config.block.norm_offset;
  const at::Tensor factors = offset == 0 ? weight : weight.to(at::kFloat) + offset;
  if (config.block.norm_scales_wide) return (wide * scale * factors).to(input.scalar_type());
  return (wide * scale).to(input.scalar_type()) * factors.to(weight.scalar_type());
}

DecoderLayer::DecoderLayer(const ModelConfig& config, int64_t place, const WeightByName& weight)
    : index(place) {
  const auto take = [&](const char* norm) {
    return norm ? weight(layer_name(index, norm) + ".weight") : at::Tensor();
  };
  const auto take_linear = [&](const char* module) {
    Linear linear;
    linear.name = layer_name(index, module);
    linear.weight = weight(linear.name + ".weight");
    linear.bias = weight(linear.name + ".bias");
    return linear;
  };
  const NormNames names = config.block.norm_names();
  attention_norm = {take(names.before_attention), take(names.after_attention)};
  q = take_linear("self_attn.q_proj");
  k = take_linear("self_attn.k_proj");
  v = take_linear("self_attn.v_proj");
  o = take_linear("self_attn.o_proj");
  q_norm = take("self_attn.q_norm");
  k_norm = take("self_attn.k_norm");
  mlp_norm = {take(names.before_mlp), take(names.after_mlp)};
  gate = take_linear("mlp.gate_proj");
  up = take_linear("mlp.up_proj");
  down = take_linear("mlp.down_proj");
  window = config.block.window(index);
  rope = config.block.rope_of(index);
}

std::map<std::string, at::Tensor> DecoderLayer::named_norms(const ModelConfig& config) const {
  std::map<std::string, at::Tensor> norms;
  const auto add = [&](const char* norm, const at::Tensor& tensor) {
    if (tensor.defined()) norms[layer_name(index, norm) + ".weight"] = tensor;
  };
  const NormNames names = config.block.norm_names();
  add(names.before_attention, attention_norm.before);
  add(names.after_attention, attention_norm.after);
  add(names.before_mlp, mlp_norm.before);
  add(names.after_mlp, mlp_norm.after);
  add("self_attn.q_norm", q_norm);
  add("self_attn.k_norm", k_norm);
  return norms;
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                    std::span<const Rotation> rotations, const at::Tensor& mask,
                                    const at::Tensor& gate_BT1) const {
  return run(config, hidden_BTE, rotations[static_cast<size_t>(rope)], gate_BT1,
             [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
               return attend(config.block, queries, keys, values, mask);
             });
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                                    std::span<const Rotation> rotations,
                                    std::span<CachedRows> sequences,
                                    const at::Tensor& gate_1T1) const {
  return run(config, hidden_1TE, rotations[static_cast<size_t>(rope)], gate_1T1,
             [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
               std::vector<at::Tensor> attended;
               int64_t begin = 0;
               for (CachedRows& rows : sequences) {
                 const auto own = [&](const at::Tensor& all) {
                   return sequences.size() == 1 ? all : all.narrow(2, begin, rows.num_new);
                 };
                 const auto [seen_keys, seen_values] =
                     rows.cache->append(index, own(keys), own(values));
                 attended.push_back(width_invariant
                                        ? attend_one_by_one(config.block, own(queries), seen_keys,
                                                            seen_values, rows, window)
                                        : attend(config.block, own(queries), seen_keys, seen_values,
                                                 rows.masks(window)));
                 begin += rows.num_new;
               }
               return attended.size() == 1 ? attended.front() : at::cat(attended, 1);
             });
}

at::Tensor DecoderLayer::run(const ModelConfig& config, const at::Tensor& hidden_BTE,
                             const Rotation& rotation, const at::Tensor& gate_BT1,
                             const Attend& attend) const {
  const int64_t B = hidden_BTE.size(0), T = hidden_BTE.size(1), D = config.head_dim;
  const BlockSpec& block = config.block;
  const auto normed = [&](const at::Tensor& input, const at::Tensor& weight) {
    return rms_norm(config, input, weight, width_invariant);
  };
  const at::Tensor attention_input = normed(hidden_BTE, attention_norm.before);
  const auto project = [&](const Linear& linear, const at::Tensor& norm_weight, int64_t count) {
    at::Tensor x = linear(attention_input, gate_BT1);
    if (block.qk_norm == QkNorm::kWidth) x = normed(x, norm_weight);
    x = x.view({B, T, count, D});
    if (block.qk_norm == QkNorm::kHead) x = normed(x, norm_weight);
    return x.transpose(1, 2);
  };
  const at::Tensor queries = rotate(project(q, q_norm, config.num_heads), rotation);
  const at::Tensor keys = rotate(project(k, k_norm, config.num_kv_heads), rotation);
  const at::Tensor attended =
      o(attend(queries, keys, project(v, {}, config.num_kv_heads)), gate_BT1);
  const at::Tensor hidden = hidden_BTE + normed(attended, attention_norm.after);
  const at::Tensor mlp_input = normed(hidden, mlp_norm.before);
  const at::Tensor gates = gate(mlp_input, gate_BT1);
  const at::Tensor opened =
      block.activation == Activation::kSilu ? at::silu(gates) : at::gelu(gates, "tanh");
  return hidden + normed(down(opened * up(mlp_input, gate_BT1), gate_BT1), mlp_norm.after);
}

}  // namespace predgen
