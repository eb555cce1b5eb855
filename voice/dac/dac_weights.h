#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <string>

#include "tensors/safetensors.h"
#include "voice/dac/dac_config.h"

namespace predgen {

/// A folder of transformers' DacModel (config.json, model.safetensors), on disk until asked for.
class DacWeights {
 public:
  /// UserError names missing, superfluous and misshapen tensors.
  explicit DacWeights(const std::filesystem::path& folder, at::Device device = at::kCPU);

  const DacConfig& config() const { return config_; }
  /// In float32 on the device; not to be written to.
  at::Tensor tensor(const std::string& name) const;

 private:
  DacConfig config_;
  SafetensorsFolder stored_;
  at::Device device_;
};

}  // namespace predgen
