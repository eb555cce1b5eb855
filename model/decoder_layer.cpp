#include "model/decoder_layer.h"

#include <algorithm>

#include "core/error.h"
#include "model/kernels/row_tiles.h"

namespace predgen {
namespace {

std::string layer_name(int64_t index, const char* part) {
  return fmt::format("model.layers.{}.{}", index, part);
}
const char* attention_norm_name(const ModelConfig& config) {
  return config.norm_after ? "post_attention_layernorm.weight" : "input_layernorm.weight";
}
const char* mlp_norm_name(const ModelConfig& config) {
  return config.norm_after ? "post_feedforward_layernorm.weight"
                           : "post_attention_layernorm.weight";
}

/// Rotates pairs (x[i], x[i + D/2]), the layout of Hugging Face checkpoints.
at::Tensor rotate(const at::Tensor& x_BHTD, const Rotation& rotation) {
  const auto halves = x_BHTD.chunk(2, -1);
  return x_BHTD * rotation.cos + at::cat({halves[1], halves[0]}, -1) * rotation.signed_sin;
}

/// [B,H,T,D] queries, [B,G,S,D] keys and values, H a multiple of G, to [B,T,H*D].
at::Tensor attend(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                  const at::Tensor& mask) {
  const int64_t B = queries.size(0), H = queries.size(1), T = queries.size(2), D = queries.size(3);
  const int64_t G = keys.size(1);
  const bool folds = mask.defined() && mask.size(-2) != T;  // see AttentionMasks
  const at::Tensor attended = at::scaled_dot_product_attention(
      folds ? queries.reshape({B, G, H / G * T, D}) : queries, keys, values,
      mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, 0.0,
      /*is_causal=*/!mask.defined() && T > 1, std::nullopt,
      /*enable_gqa=*/!folds && H != G);
  return attended.reshape({B, H, T, D}).transpose(1, 2).reshape({B, T, H * D});
}

/// Each of the queries [1,H,T,D] by itself over the keys and values [1,G,S,D] that it sees and no
/// others: the call of a pass over this token alone, whatever else this one holds.
at::Tensor attend_one_by_one(const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& values, const CachedRows& rows, int64_t window) {
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
    // Heads that share keys stand as further queries: much faster on a CPU.
    const at::Tensor query = queries.narrow(2, i, 1).reshape({1, G, H / G, D});
    attended.push_back(
        at::scaled_dot_product_attention(query, seen(keys), seen(values)).reshape({1, 1, H * D}));
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

at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight,
                    bool width_invariant) {
  if (width_invariant && input.is_cuda()) {
    return in_row_tiles(input, kTileRows,
                        [&](const at::Tensor& tile) { return rms_norm(config, tile, weight); });
  }
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, true) + config.rms_norm_eps);
  if (config.norm_scales_wide) return (wide * scale * weight).to(input.scalar_type());
  return (wide * scale).to(input.scalar_type()) * weight;
}

DecoderLayer::DecoderLayer(const ModelConfig& config, int64_t place, const WeightByName& weight)
    : index(place) {
  const auto take = [&](const char* part) { return weight(layer_name(index, part)); };
  const auto take_linear = [&](const char* module) {
    Linear linear;
    linear.name = layer_name(index, module);
    linear.weight = weight(linear.name + ".weight");
    linear.bias = weight(linear.name + ".bias");
    return linear;
  };
  attention_norm = take(attention_norm_name(config));
  q = take_linear("self_attn.q_proj");
  k = take_linear("self_attn.k_proj");
  v = take_linear("self_attn.v_proj");
  o = take_linear("self_attn.o_proj");
  q_norm = take("self_attn.q_norm.weight");
  k_norm = take("self_attn.k_norm.weight");
  mlp_norm = take(mlp_norm_name(config));
  gate = take_linear("mlp.gate_proj");
  up = take_linear("mlp.up_proj");
  down = take_linear("mlp.down_proj");
  if (!config.windows.empty()) window = config.windows[static_cast<size_t>(index)];
}

std::map<std::string, at::Tensor> DecoderLayer::norms(const ModelConfig& config) const {
  std::map<std::string, at::Tensor> norms;
  const auto add = [&](const char* part, const at::Tensor& tensor) {
    if (tensor.defined()) norms[layer_name(index, part)] = tensor;
  };
  add(attention_norm_name(config), attention_norm);
  add(mlp_norm_name(config), mlp_norm);
  add("self_attn.q_norm.weight", q_norm);
  add("self_attn.k_norm.weight", k_norm);
  return norms;
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_BTE,
                                    const Rotation& rotation, const at::Tensor& mask) const {
  return run(config, hidden_BTE, rotation,
             [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
               return attend(queries, keys, values, mask);
             });
}

at::Tensor DecoderLayer::operator()(const ModelConfig& config, const at::Tensor& hidden_1TE,
                                    const Rotation& rotation,
                                    std::span<CachedRows> sequences) const {
  return run(config, hidden_1TE, rotation,
             [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
               std::vector<at::Tensor> attended;
               int64_t begin = 0;
               for (CachedRows& rows : sequences) {
                 const auto own = [&](const at::Tensor& all) {
                   return sequences.size() == 1 ? all : all.narrow(2, begin, rows.num_new);
                 };
                 const auto [seen_keys, seen_values] =
                     rows.cache->append(index, own(keys), own(values));
                 attended.push_back(
                     width_invariant
                         ? attend_one_by_one(own(queries), seen_keys, seen_values, rows, window)
                         : attend(own(queries), seen_keys, seen_values, rows.masks(window)));
                 begin += rows.num_new;
               }
               return attended.size() == 1 ? attended.front() : at::cat(attended, 1);
             });
}

at::Tensor DecoderLayer::run(const ModelConfig& config, const at::Tensor& hidden_BTE,
                             const Rotation& rotation, const Attend& attend) const {
  const int64_t B = hidden_BTE.size(0), T = hidden_BTE.size(1), D = config.head_dim;
  const bool before = !config.norm_after;
  const auto normed_if = [&](bool wanted, const at::Tensor& input, const at::Tensor& weight) {
    return wanted ? rms_norm(config, input, weight, width_invariant) : input;
  };
  const at::Tensor attention_input = normed_if(before, hidden_BTE, attention_norm);
  const auto project = [&](const Linear& linear, const at::Tensor& norm_weight, int64_t count) {
    at::Tensor x = linear(attention_input);
    if (config.qk_norm == QkNorm::kWidth && norm_weight.defined()) {
      x = rms_norm(config, x, norm_weight, width_invariant);
    }
    x = x.view({B, T, count, D});
    if (config.qk_norm == QkNorm::kHead && norm_weight.defined()) {
      x = rms_norm(config, x, norm_weight, width_invariant);
    }
    return x.transpose(1, 2);
  };
  const at::Tensor queries = rotate(project(q, q_norm, config.num_heads), rotation);
  const at::Tensor keys = rotate(project(k, k_norm, config.num_kv_heads), rotation);
  const at::Tensor attended = o(attend(queries, keys, project(v, {}, config.num_kv_heads)));
  const at::Tensor hidden = hidden_BTE + normed_if(!before, attended, attention_norm);
  const at::Tensor mlp_input = normed_if(before, hidden, mlp_norm);
  const at::Tensor output = down(at::silu(gate(mlp_input)) * up(mlp_input));
  return hidden + normed_if(!before, output, mlp_norm);
}

}  // namespace predgen
