#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <vector>

#include "voice/zonos/zonos_cache.h"
#include "voice/zonos/zonos_config.h"
#include "voice/zonos/zonos_matrix.h"

namespace predgen {

// Shapes: R rows (2 with guidance, 1 without), T new positions, S positions attended to, D width,
// K = 9 codebooks, V = 1025 logits of each.

/// The decoder of Zonos-v0.1: LayerNorm, grouped-query attention with rotary positions in
/// interleaved pairs, a gated MLP; nine embeddings in, nine heads out. Weights only.
class ZonosBackbone {
 public:
  /// `weight(name)` gives each tensor by its name in the file, on its device and in its type. kInt8
  /// quantises the matrices of the layers and the heads one by one as they are read.
  ZonosBackbone(const ZonosConfig& config,
                const std::function<at::Tensor(const std::string&)>& weight, at::Device device,
                Quantization quantization);

  /// The sum of the nine embeddings of each column of `codes_KT` (int64, on the device): [T,D].
  at::Tensor embed(const at::Tensor& codes_KT) const;

  /// Runs `input_RTD` at `positions_T` (int64, on the device), writes keys and values there, and
  /// attends to those of the first `num_seen` positions of the cache that are not after the query's
  /// own. That is decided on the device, so that with `num_seen` equal to the cache's capacity
  /// nothing depends on the host, as CUDA graphs require. Returns [R,T,D].
  at::Tensor forward(const at::Tensor& input_RTD, const at::Tensor& positions_T, int64_t num_seen,
                     const ZonosCache& cache) const;

  /// Logits of `hidden_RD`, guided: unconditional + scale * (conditional - unconditional), float32
  /// [K,V]. A single row is not guided. `scale`: a float32 scalar on the device.
  at::Tensor guided_logits(const at::Tensor& hidden_RD, const at::Tensor& scale) const;

  const at::TensorOptions& options() const { return options_; }

 private:
  struct Layer {
    at::Tensor norm_weight, norm_bias, norm2_weight, norm2_bias;  // [D]
    ZonosMatrix qkv, out, up_and_gate, down;
  };
  at::Tensor attention(const Layer& layer, const at::Tensor& input_RTD, const at::Tensor& rotation,
                       const at::Tensor& mask, const at::Tensor& positions_T,
                       const at::Tensor& keys, const at::Tensor& values) const;

  ZonosConfig config_;
  at::TensorOptions options_;
  at::Tensor embeddings_;  // [K*1026,D]
  at::Tensor offsets_;     // int64 [K,1]: where each codebook's rows begin
  at::Tensor rotations_;   // complex64 [16384, head width / 2]
  std::vector<Layer> layers_;
  at::Tensor norm_weight_, norm_bias_;
  ZonosMatrix heads_;  // [K*V,D]
};

}  // namespace predgen
