#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/parts/delta_net.h"
#include "model/parts/short_convolution.h"
#include "tests/fakes/gated_recurrence.h"

namespace predgen {

/// Qwen3.5's kind: a gated delta net, two value heads for each key head, before an attention whose
/// output has a gate and whose heads turn in part.
inline ModelConfig delta_config() {
  ModelConfig config = small_config();
  config.layers[0].recurrence = std::make_shared<const DeltaNetSpec>(
      DeltaNetShape{.key_heads = 2, .value_heads = 4, .key_dim = 8, .value_dim = 6, .taps = 4},
      1e-6);
  config.layers[1].attention = {.qk_norm = QkNorm::kHead, .output_gate = true};
  config.ropes = {{.share = 0.5}};
  return config;
}

/// LFM2's kind: a short convolution before an attention.
inline ModelConfig convolution_config() {
  ModelConfig config = small_config();
  config.layers[0].recurrence =
      std::make_shared<const ShortConvolutionSpec>(ShortConvolutionShape{.taps = 3, .bias = true});
  config.layers[1].attention = {.qk_norm = QkNorm::kHead};
  return config;
}

/// Models of which some layers keep a state.
struct HybridCase {
  const char* name;
  ModelConfig (*config)();
};
inline std::vector<HybridCase> hybrid_cases() {
  return {
      {"Recurrence", hybrid_config}, {"Delta", delta_config}, {"Convolution", convolution_config}};
}

}  // namespace predgen
