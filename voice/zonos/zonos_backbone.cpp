#include "voice/zonos/zonos_backbone.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace predgen {

// Shapes: R rows, T new positions, S positions attended to, D width, H query heads, G key/value
// heads, E head width, K codebooks, V logits.

namespace {

constexpr double kRopeBase = 10000.0;

/// e^(i * position * frequency) of each pair of a head: complex64 [positions, E/2].
at::Tensor make_rotations(int64_t head_width, at::Device device) {
  const at::Tensor exponents = at::arange(0, head_width, 2, at::kFloat) / head_width;
  const at::Tensor frequencies = 1.0 / at::pow(at::Scalar(kRopeBase), exponents);
  const at::Tensor angles = at::outer(at::arange(kZonosMaxPositions, at::kFloat), frequencies);
  return at::polar(at::ones_like(angles), angles).to(device);
}

/// Rotates the pairs (x[2i], x[2i+1]) of every head in float32. `rotation` [T,1,E/2].
at::Tensor rotate(const at::Tensor& x_RTHE, const at::Tensor& rotation) {
  std::vector<int64_t> pairs = x_RTHE.sizes().vec();
  pairs.back() /= 2;
  pairs.push_back(2);
  const at::Tensor complex = at::view_as_complex(x_RTHE.to(at::kFloat).reshape(pairs));
  return at::view_as_real(complex * rotation).flatten(-2).to(x_RTHE.scalar_type());
}

}  // namespace

ZonosBackbone::ZonosBackbone(const ZonosConfig& config,
                             const std::function<at::Tensor(const std::string&)>& weight,
                             at::Device device, Quantization quantization)
    : config_(config) {
  const auto take_matrix = [&](const std::string& name) {
    return ZonosMatrix(weight(name + ".weight"), quantization, device, name);
  };
  const auto take_all = [&](const char* table) {
    std::vector<at::Tensor> tables;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      tables.push_back(weight(fmt::format("{}.{}.weight", table, k)));
    }
    return at::cat(tables);
  };
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::string name = fmt::format("backbone.layers.{}.", i);
    Layer layer;
    layer.norm_weight = weight(name + "norm.weight");
    layer.norm_bias = weight(name + "norm.bias");
    layer.norm2_weight = weight(name + "norm2.weight");
    layer.norm2_bias = weight(name + "norm2.bias");
    layer.qkv = take_matrix(name + "mixer.in_proj");
    layer.out = take_matrix(name + "mixer.out_proj");
    layer.up_and_gate = take_matrix(name + "mlp.fc1");
    layer.down = take_matrix(name + "mlp.fc2");
    layers_.push_back(std::move(layer));
  }
  norm_weight_ = weight("backbone.norm_f.weight");
  norm_bias_ = weight("backbone.norm_f.bias");
  embeddings_ = take_all("embeddings");
  heads_ = ZonosMatrix(take_all("heads"), quantization, device, "heads");
  options_ = embeddings_.options();
  offsets_ = (at::arange(kZonosCodebooks, at::kLong) * kZonosEmbeddings).unsqueeze(1).to(device);
  rotations_ = make_rotations(config.head_width(), device);
}

at::Tensor ZonosBackbone::embed(const at::Tensor& codes_KT) const {
  const at::Tensor rows_KTD = at::embedding(embeddings_, codes_KT + offsets_);
  at::Tensor sum_TD = rows_KTD[0];
  // Added one by one, each sum rounded to the type of the weights, as in the model's training.
  for (int64_t k = 1; k < kZonosCodebooks; ++k) sum_TD = sum_TD + rows_KTD[k];
  return sum_TD;
}

at::Tensor ZonosBackbone::attention(const Layer& layer, const at::Tensor& input_RTD,
                                    const at::Tensor& rotation, const at::Tensor& mask,
                                    const at::Tensor& positions_T, const at::Tensor& keys,
                                    const at::Tensor& values) const {
  const int64_t R = input_RTD.size(0), T = input_RTD.size(1), S = mask.size(1);
  const int64_t H = config_.num_heads, G = config_.num_kv_heads, E = config_.head_width();
  const at::Tensor qkv = layer.qkv(input_RTD).view({R, T, H + 2 * G, E});
  const at::Tensor queries_and_keys = rotate(qkv.narrow(2, 0, H + G), rotation);
  keys.index_copy_(2, positions_T, queries_and_keys.narrow(2, H, G).transpose(1, 2));
  values.index_copy_(2, positions_T, qkv.narrow(2, H + G, G).transpose(1, 2));
  // Heads that share a key head are adjacent: to it they are further queries.
  const at::Tensor queries =
      queries_and_keys.narrow(2, 0, H).transpose(1, 2).reshape({R, G, H / G * T, E});
  const at::Tensor attended =
      at::scaled_dot_product_attention(queries, keys.narrow(2, 0, S), values.narrow(2, 0, S), mask);
  return layer.out(attended.reshape({R, H, T, E}).transpose(1, 2).reshape({R, T, H * E}));
}

at::Tensor ZonosBackbone::forward(const at::Tensor& input_RTD, const at::Tensor& positions_T,
                                  int64_t num_seen, const ZonosCache& cache) const {
  const auto normed = [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::layer_norm(x, {config_.width}, weight, bias, config_.norm_epsilon);
  };
  const at::Tensor rotation = rotations_.index_select(0, positions_T).unsqueeze(1);
  const at::Tensor hidden_TS =
      at::arange(num_seen, positions_T.options()) > positions_T.unsqueeze(1);
  const at::Tensor mask = at::zeros(hidden_TS.sizes(), options_)
                              .masked_fill_(hidden_TS, -std::numeric_limits<double>::infinity())
                              .repeat({config_.num_heads / config_.num_kv_heads, 1});
  at::Tensor x = input_RTD;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto [keys, values] = cache.layer(static_cast<int64_t>(i));
    x = x + attention(layer, normed(x, layer.norm_weight, layer.norm_bias), rotation, mask,
                      positions_T, keys, values);
    const auto halves =
        layer.up_and_gate(normed(x, layer.norm2_weight, layer.norm2_bias)).chunk(2, -1);
    x = x + layer.down(halves[0] * at::silu(halves[1]));
  }
  return normed(x, norm_weight_, norm_bias_);
}

at::Tensor ZonosBackbone::guided_logits(const at::Tensor& hidden_RD,
                                        const at::Tensor& scale) const {
  const at::Tensor logits =
      heads_(hidden_RD).to(at::kFloat).view({hidden_RD.size(0), kZonosCodebooks, kZonosLogits});
  if (logits.size(0) == 1) return logits[0];
  return logits[1] + (logits[0] - logits[1]) * scale;
}

}  // namespace predgen
