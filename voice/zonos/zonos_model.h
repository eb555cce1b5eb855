#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>

#include "model/load_options.h"
#include "tensors/safetensors.h"
#include "voice/zonos/prefix_conditioner.h"
#include "voice/zonos/zonos_backbone.h"
#include "voice/zonos/zonos_cache.h"

namespace predgen {

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

}  // namespace predgen
