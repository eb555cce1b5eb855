#pragma once

#include <memory>
#include <vector>

#include "model/parts/recurrent_part.h"

namespace predgen {

// Shapes: n tokens that follow each other, N key heads, R value heads of a key head, H = N R, D
// size of a key, V of a value, K taps, U = 2 D + R V channels of a key head.

/// The sizes of a gated delta net.
struct DeltaNetShape {
  int64_t key_heads = 0, value_heads = 0;
  int64_t key_dim = 0, value_dim = 0;  // of a head
  int64_t taps = 4;                    // inputs that the convolution's output sees

  int64_t shared() const { return value_heads / key_heads; }
  int64_t all_keys() const { return key_heads * key_dim; }
  int64_t all_values() const { return value_heads * value_dim; }
  int64_t channels() const { return 2 * all_keys() + all_values(); }
  int64_t unit_channels() const { return 2 * key_dim + shared() * value_dim; }
  /// Of the state, for each key head: the convolution's last inputs [K - 1,U], the oldest first,
  /// then matrices [R,D,V].
  int64_t unit_size() const {
    return (taps - 1) * unit_channels() + shared() * key_dim * value_dim;
  }
};

/// Qwen3.5's gated delta net (Yang et al. 2024, arXiv 2412.06464). Queries, keys and values go
/// through a causal convolution of each channel and SiLU; each value head keeps a matrix S, which a
/// token changes by S = decay S + k (x) (beta (v - k decay S)), and of which it reads q S. The
/// result is normed, times SiLU of a gate. State: float32 [N,DeltaNetShape::unit_size()].
class DeltaNet : public RecurrentPart {
 public:
  DeltaNet(const DeltaNetShape& shape, double eps, const LayerSource& source);

  at::Tensor read(const at::Tensor& input_BTE, const at::Tensor& gate_BT1) const override;
  /// Token by token for few of them; else 64 at a time.
  at::Tensor advance(const at::Tensor& tokens_nW, LayerState& state) const override;
  at::Tensor write(const at::Tensor& found_BTM, const at::Tensor& gate_BT1) const override;
  std::vector<Linear*> linears() override { return {&out, &qkv, &opening, &beta, &alpha}; }
  void add_others(NamedTensors& to) const override;

  /// The convolution's weights, float32 [K,N,U].
  at::Tensor unit_taps() const;

  DeltaNetShape shape;
  double eps;  // of the norm
  int64_t layer;
  at::Tensor dt_bias_H, A_log_H, taps_C1K, norm_V;
  Linear out, qkv, opening, beta, alpha;
};

class DeltaNetSpec : public RecurrentSpec {
 public:
  DeltaNetSpec(const DeltaNetShape& sizes, double norm_eps) : shape(sizes), eps(norm_eps) {}

  const char* name() const override { return "gated delta net"; }
  bool has_cpu_kernels() const override { return true; }
  void add_weights(const ModelConfig& config, LayerWeights& to) const override;
  std::unique_ptr<RecurrentPart> make(const LayerSource& source) const override;
  int64_t saved_values(const ModelConfig& config) const override;
  int64_t state_bytes(const ModelConfig& config, int64_t bytes_per_value) const override;

  const DeltaNetShape shape;
  const double eps;
};

}  // namespace predgen
