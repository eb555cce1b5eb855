#include "model/parts/delta_net.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace predgen {
namespace {

constexpr ModuleName kDeltaBias{"linear_attn.dt_bias", "ssm_dt.bias"},
    kDeltaLog{"linear_attn.A_log", "ssm_a"},
    kDeltaTaps{"linear_attn.conv1d.weight", "ssm_conv1d.weight"},
    kDeltaNorm{"linear_attn.norm.weight", "ssm_norm.weight"};
constexpr ModuleName kDeltaOut{"linear_attn.out_proj", "ssm_out"},
    kDeltaQkv{"linear_attn.in_proj_qkv", "attn_qkv"},
    kDeltaOpening{"linear_attn.in_proj_z", "attn_gate"},
    kDeltaBeta{"linear_attn.in_proj_b", "ssm_beta"},
    kDeltaAlpha{"linear_attn.in_proj_a", "ssm_alpha"};

/// Fewer tokens than this run one by one.
constexpr int64_t kFewest = 16, kChunk = 64;

/// What a run of tokens asks of the matrices, float32: [H,n,D] and [H,n,V], [H,n].
struct DeltaTokens {
  at::Tensor queries, keys, values, betas, decays;  // decays: their logarithms
};

at::Tensor unit_length(const at::Tensor& x) {
  return x * at::rsqrt(x.square().sum(-1, true) + 1e-6);
}

/// Changes S [H,D,V]; gives what the tokens read, [H,n,V].
at::Tensor one_by_one(const DeltaTokens& tokens, at::Tensor& S) {
  const at::Tensor decays = tokens.decays.exp();
  std::vector<at::Tensor> found;
  for (int64_t i = 0; i < tokens.keys.size(1); ++i) {
    const at::Tensor key = tokens.keys.select(1, i).unsqueeze(-1);
    S = S * decays.select(1, i).view({-1, 1, 1});
    const at::Tensor known = (S * key).sum(-2);
    const at::Tensor change =
        (tokens.values.select(1, i) - known) * tokens.betas.select(1, i).unsqueeze(-1);
    S = S + key * change.unsqueeze(-2);
    found.push_back((S * tokens.queries.select(1, i).unsqueeze(-1)).sum(-2));
  }
  return at::stack(found, 1);
}

/// The same in products over up to kChunk tokens (Yang et al. 2024): what the tokens of a chunk
/// change is the solution of a triangular system.
at::Tensor in_chunks(const DeltaTokens& tokens, at::Tensor& S) {
  const int64_t n = tokens.keys.size(1);
  std::vector<at::Tensor> found;
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t count = std::min(kChunk, n - begin);
    const auto own = [&](const at::Tensor& all) { return all.narrow(1, begin, count); };
    const at::Tensor queries = own(tokens.queries), keys = own(tokens.keys);
    const at::Tensor betas = own(tokens.betas).unsqueeze(-1);
    const at::Tensor decays = own(tokens.decays).cumsum(1);
    const at::Tensor later = at::ones({count, count}, keys.options().dtype(at::kBool)).triu(1);
    const at::Tensor between = (decays.unsqueeze(2) - decays.unsqueeze(1))
                                   .masked_fill(later, -std::numeric_limits<double>::infinity())
                                   .exp();
    const at::Tensor since = decays.exp().unsqueeze(-1);
    const at::Tensor system = at::matmul(keys * betas, keys.transpose(1, 2)) * between;
    const auto solved = [&](const at::Tensor& right) {
      return at::linalg_solve_triangular(system, right, /*upper=*/false, /*left=*/true,
                                         /*unitriangular=*/true);
    };
    const at::Tensor changes =
        solved(own(tokens.values) * betas) - at::matmul(solved(keys * betas * since), S);
    found.push_back(at::matmul(queries * since, S) +
                    at::matmul(at::matmul(queries, keys.transpose(1, 2)) * between, changes));
    const at::Tensor last = decays.narrow(1, count - 1, 1);
    S = S * last.exp().unsqueeze(-1) +
        at::matmul((keys * (last - decays).exp().unsqueeze(-1)).transpose(1, 2), changes);
  }
  return at::cat(found, 1);
}

/// [n,C] by key head, [n,N,U].
at::Tensor by_unit(const at::Tensor& qkv_nC, const DeltaNetShape& shape) {
  const int64_t n = qkv_nC.size(0), N = shape.key_heads;
  const std::vector<at::Tensor> parts =
      qkv_nC.split_with_sizes({shape.all_keys(), shape.all_keys(), shape.all_values()}, 1);
  return at::cat(
      {parts[0].reshape({n, N, -1}), parts[1].reshape({n, N, -1}), parts[2].reshape({n, N, -1})},
      -1);
}

}  // namespace

void DeltaNetSpec::add_weights(const ModelConfig& config, LayerWeights& to) const {
  const int64_t E = config.hidden_size, H = shape.value_heads, V = shape.value_dim;
  const auto heads = [&](int64_t size, int64_t first = 0, bool in_columns = false) {
    return GroupedHeads{.groups = shape.key_heads,
                        .heads = shape.shared(),
                        .size = size,
                        .first = first,
                        .in_columns = in_columns};
  };
  const int64_t first = 2 * shape.all_keys();
  to.add_tensor(kDeltaBias,
                WeightSpec{.name = {}, .shape = {H}, .is_wide = true, .grouped = heads(1)});
  to.add_tensor(
      kDeltaLog,
      WeightSpec{.name = {}, .shape = {H}, .is_wide = true, .is_log = true, .grouped = heads(1)});
  to.add_tensor(kDeltaTaps, WeightSpec{.name = {},
                                       .shape = {shape.channels(), 1, shape.taps},
                                       .grouped = heads(V, first)});
  to.add_tensor(kDeltaNorm, WeightSpec{.name = {}, .shape = {V}, .is_factor = true});
  to.add(kDeltaOut, {.out = E, .in = shape.all_values(), .input = 1, .grouped = heads(V, 0, true)});
  to.add(kDeltaQkv, {.out = shape.channels(), .in = E, .grouped = heads(V, first)});
  to.add(kDeltaOpening, {.out = shape.all_values(), .in = E, .grouped = heads(V)});
  to.add(kDeltaBeta, {.out = H, .in = E, .grouped = heads(1)});
  to.add(kDeltaAlpha, {.out = H, .in = E, .grouped = heads(1)});
}

std::unique_ptr<RecurrentPart> DeltaNetSpec::make(const LayerSource& source) const {
  return std::make_unique<DeltaNet>(shape, eps, source);
}

int64_t DeltaNetSpec::saved_values(const ModelConfig&) const {
  const int64_t of_head = 10 * shape.key_dim + 10 * shape.value_dim + 6 * kChunk;
  return shape.channels() * (shape.taps + 4) + shape.value_heads * of_head;
}

int64_t DeltaNetSpec::state_bytes(const ModelConfig&, int64_t) const {
  return shape.key_heads * shape.unit_size() * static_cast<int64_t>(sizeof(float));
}

DeltaNet::DeltaNet(const DeltaNetShape& sizes, double norm_eps, const LayerSource& source)
    : shape(sizes),
      eps(norm_eps),
      layer(source.layer()),
      dt_bias_H(source.tensor(kDeltaBias)),
      A_log_H(source.tensor(kDeltaLog)),
      taps_C1K(source.tensor(kDeltaTaps)),
      norm_V(source.tensor(kDeltaNorm)),
      out(source.linear(kDeltaOut)),
      qkv(source.linear(kDeltaQkv)),
      opening(source.linear(kDeltaOpening)),
      beta(source.linear(kDeltaBeta)),
      alpha(source.linear(kDeltaAlpha)) {}

void DeltaNet::add_others(NamedTensors& to) const {
  to.emplace_back(tensor_name(layer, kDeltaBias), dt_bias_H);
  to.emplace_back(tensor_name(layer, kDeltaLog), A_log_H);
  to.emplace_back(tensor_name(layer, kDeltaTaps), taps_C1K);
  to.emplace_back(tensor_name(layer, kDeltaNorm), norm_V);
}

at::Tensor DeltaNet::unit_taps() const {
  return by_unit(taps_C1K.squeeze(1).to(at::kFloat).t(), shape);
}

at::Tensor DeltaNet::read(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const {
  return at::cat({qkv(input_BTE, gate_BT1), opening(input_BTE, gate_BT1), beta(input_BTE, gate_BT1),
                  alpha(input_BTE, gate_BT1)},
                 -1);
}

at::Tensor DeltaNet::advance(const at::Tensor& tokens_nW, LayerState& state) const {
  const int64_t n = tokens_nW.size(0), N = shape.key_heads, R = shape.shared(), H = N * R;
  const int64_t D = shape.key_dim, V = shape.value_dim, K = shape.taps, U = shape.unit_channels();
  const std::vector<at::Tensor> parts =
      tokens_nW.to(at::kFloat).split_with_sizes({shape.channels(), shape.all_values(), H, H}, 1);
  const at::Tensor fresh_nNU = by_unit(parts[0], shape);
  at::Tensor before_KNU, S;
  if (state.empty()) {
    before_KNU = at::zeros({K - 1, N, U}, fresh_nNU.options());
    S = at::zeros({H, D, V}, fresh_nNU.options());
  } else {
    const at::Tensor& all = state.front();
    before_KNU = all.narrow(1, 0, (K - 1) * U).reshape({N, K - 1, U}).transpose(0, 1);
    S = all.narrow(1, (K - 1) * U, R * D * V).reshape({H, D, V});
  }
  const at::Tensor seen_NU = at::cat({before_KNU, fresh_nNU}), taps_KNU = unit_taps();
  at::Tensor mixed_nNU = seen_NU.narrow(0, 0, n) * taps_KNU[0];
  for (int64_t k = 1; k < K; ++k) mixed_nNU = mixed_nNU + seen_NU.narrow(0, k, n) * taps_KNU[k];
  mixed_nNU = at::silu(mixed_nNU);

  const auto for_heads = [&](const at::Tensor& keys_nND) {  // of values, [H,n,D]
    return unit_length(keys_nND).repeat_interleave(R, 1).transpose(0, 1);
  };
  const DeltaTokens tokens{
      .queries = for_heads(mixed_nNU.narrow(2, 0, D)) * (1.0 / std::sqrt(static_cast<double>(D))),
      .keys = for_heads(mixed_nNU.narrow(2, D, D)),
      .values = mixed_nNU.narrow(2, 2 * D, R * V).reshape({n, H, V}).transpose(0, 1),
      .betas = at::sigmoid(parts[2]).t(),
      .decays =
          (-A_log_H.to(at::kFloat).exp() * at::softplus(parts[3] + dt_bias_H.to(at::kFloat))).t()};
  const at::Tensor found_HnV = n < kFewest ? one_by_one(tokens, S) : in_chunks(tokens, S);
  state = {at::cat(
      {seen_NU.narrow(0, n, K - 1).transpose(0, 1).reshape({N, -1}), S.reshape({N, -1})}, 1)};
  const at::Tensor found_nHV = found_HnV.transpose(0, 1);
  const at::Tensor scale = at::rsqrt(found_nHV.square().mean(-1, true) + eps);
  const at::Tensor normed = found_nHV * scale * norm_V.to(at::kFloat);
  return (normed.reshape({n, H * V}) * at::silu(parts[1])).to(tokens_nW.scalar_type());
}

at::Tensor DeltaNet::write(const at::Tensor& found_BTM, const at::Tensor& gate_BT1) const {
  return out(found_BTM, gate_BT1);
}

}  // namespace predgen
