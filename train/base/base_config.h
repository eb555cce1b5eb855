#pragma once

#include "train/base/weight_codec.h"

namespace predgen::train {

/// What a run keeps of the frozen weights of the layers, and where.
struct BaseConfig {
  BaseWeights weights = BaseWeights::kFull;
  bool shard = false;    // a rank has 1/N of each layer, gathered when it is used
  bool offload = false;  // in the memory of the host, copied to the device when it is used

  /// Whether the layers are always in the model, whole and in its own type.
  bool is_resident() const { return weights == BaseWeights::kFull && !shard && !offload; }
};

}  // namespace predgen::train
