#pragma once

#include "train/base/weight_codec.h"

namespace predgen::train {

/// How and where a run keeps the frozen weights of the layers.
struct BaseConfig {
  BaseWeights weights = BaseWeights::kFull;
  bool shard = false;    // a rank holds 1/N of each layer, gathered on use
  bool offload = false;  // in host memory, copied to the device on use

  /// Whether the layers are always in the model, whole and in the model's type.
  bool is_resident() const { return weights == BaseWeights::kFull && !shard && !offload; }
};

}  // namespace predgen::train
