#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/gpu/captured_graph.h"
#include "model/load_options.h"
#include "model/quantized_weight.h"
#include "tensors/safetensors.h"
#include "voice/zonos/prefix_conditioner.h"
#include "voice/zonos/zonos_config.h"

namespace predgen {

/// Attention keys and values of one utterance: starts small, grows by buckets. Every bucket is one
/// shape of the decoding step, so that a CUDA graph can be kept for each. Positions after length()
/// are never read.
class ZonosCache {
 public:
  /// Rows of an utterance: 2 with guidance, 1 without.
  static int64_t rows_for(double cfg_scale) { return cfg_scale == 1.0 ? 1 : 2; }
  /// `rows`: 1 or 2.
  ZonosCache(const ZonosConfig& config, int64_t rows, const at::TensorOptions& options);
  ZonosCache(ZonosCache&&) = default;
  ZonosCache& operator=(ZonosCache&&) = default;

  int64_t rows() const { return storage_.size(2); }
  int64_t length() const { return length_; }
  int64_t capacity() const { return storage_.size(4); }
  /// Unique per cache: identifies whose positions a working copy holds.
  uint64_t identity() const { return identity_; }

  /// Makes room for `length` positions. UserError beyond the model's context.
  void reserve(int64_t length);
  /// Records that positions up to `length` were written.
  void set_length(int64_t length);

  /// Keys and values of `layer`, each [rows, kv heads, capacity, head width].
  std::pair<at::Tensor, at::Tensor> layer(int64_t index) const;
  /// All: [layers, 2, rows, kv heads, capacity, head width].
  const at::Tensor& storage() const { return storage_; }

  /// The smallest bucket that holds `length` positions.
  static int64_t bucket(int64_t length);

 private:
  at::Tensor storage_;
  int64_t length_ = 0;
  uint64_t identity_;
};

/// A matrix of the backbone, [out,in] without a bias, whole or in 8 bits. Immutable.
class ZonosMatrix {
 public:
  ZonosMatrix() = default;
  /// `name` is for errors; the stored matrix is on `device`.
  ZonosMatrix(const at::Tensor& weight, Quantization quantization, at::Device device,
              const std::string& name);

  /// x [..,in] -> x W^T [..,out] in the type of x.
  at::Tensor operator()(const at::Tensor& input) const;

 private:
  at::Tensor weight_;
  std::shared_ptr<const QuantizedWeight> quantized_;  // in place of weight_
};

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

/// `folder`/model.safetensors, its tensors checked but not read. UserError names missing,
/// superfluous and misshapen ones.
SafetensorsFile open_zonos_weights(const ZonosConfig& config, const std::filesystem::path& folder);

/// Zonos-v0.1 (transformer): conditioning and past codes to the logits of the next column of codes.
/// Weights only: immutable, used by any number of threads. All state of an utterance is in its
/// ZonosCache, so many utterances may be under way.
class ZonosModel {
 public:
  /// Loads config.json and model.safetensors. `options` as for a language model; quantisation is
  /// none or int8. UserError names missing, superfluous and misshapen tensors and fields.
  static std::unique_ptr<ZonosModel> load(const std::filesystem::path& folder,
                                          const LoadOptions& options = {});

  const ZonosConfig& config() const { return config_; }
  at::Device device() const { return backbone_.options().device(); }
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(backbone_.options().dtype()); }

  /// The prefix [2,P,D] of an utterance; see PrefixConditioner.
  at::Tensor make_prefix(const ZonosConditioning& conditioning) const;
  /// For a new utterance; one row if `cfg_scale` is 1.
  ZonosCache make_cache(double cfg_scale) const;

  /// Runs the prefix and the first columns of codes, int64 [9,T] with T >= 1, into an empty cache.
  /// Returns the guided logits of the next column: float32 [9,1025] on the CPU.
  at::Tensor prefill(const at::Tensor& prefix_2PD, const at::Tensor& codes_KT, double cfg_scale,
                     ZonosCache& cache) const;
  /// Runs one more column, int64 [9] on the CPU. UserError at the end of the model's context.
  at::Tensor step(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache) const;

  /// The arithmetic of step() without any dependence on the host, for a graph: column int64 [9],
  /// position int64 [1] and scale float32 [] lie on the device; attention covers the first
  /// `num_seen` positions of the cache, masked after `position`.
  at::Tensor step_on_device(const at::Tensor& codes_K, const at::Tensor& position,
                            const at::Tensor& scale, int64_t num_seen,
                            const ZonosCache& cache) const;

 private:
  ZonosModel(const ZonosConfig& config, PrefixConditioner conditioner, ZonosBackbone backbone);

  ZonosConfig config_;
  PrefixConditioner conditioner_;
  ZonosBackbone backbone_;
};

/// Decoding steps of a model on CUDA as graphs, one for each bucket and number of rows, captured
/// when first needed. A graph works on a cache of its own, into which the utterance's cache is
/// copied if another one ran last; its writes are copied back, so utterances may alternate. Used by
/// one thread at a time.
class GraphedStep {
 public:
  /// Null without graphs: on a CPU, or if this build has none. `model` must outlive it.
  static std::unique_ptr<GraphedStep> make(const ZonosModel& model);
  ~GraphedStep();

  /// Captures the steps of utterances of up to `length` positions now instead of on first use.
  void prepare(int64_t length, double cfg_scale);

  /// As ZonosModel::step(), in one launch.
  at::Tensor run(const at::Tensor& codes_K, double cfg_scale, ZonosCache& cache);

 private:
  struct Graph;
  GraphedStep(const ZonosModel& model, std::unique_ptr<const GraphMemory> memory);
  Graph& graph_for(int64_t capacity, int64_t rows);

  const ZonosModel& model_;
  const std::unique_ptr<const GraphMemory> memory_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Graph>> graphs_;  // by bucket and rows
};

}  // namespace predgen
