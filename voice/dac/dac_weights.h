#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "tensors/safetensors.h"

namespace predgen {

/// Sizes of a DAC codec. The defaults are those of descript/dac_44khz, except the sample rate.
struct DacConfig {
  int64_t encoder_size = 64;                    // channels before the first stride
  std::vector<int64_t> strides = {2, 4, 8, 8};  // the encoder's; the decoder has them in reverse
  int64_t decoder_size = 1536;                  // channels before the first transposed convolution
  int64_t num_codebooks = 9;
  int64_t codebook_size = 1024;
  int64_t codebook_dim = 8;
  int64_t sample_rate = 16000;  // Hz, transformers' default; Zonos' codec has 44100

  int64_t hop() const;          // samples of a frame
  int64_t latent_size() const;  // channels between quantizer and decoder

  /// Reads config.json as transformers wrote it. UserError names a field that is impossible,
  /// contradicts another or is unknown; fields that only training uses are accepted.
  static DacConfig load(const std::filesystem::path& folder);
};

/// Every tensor that transformers' DacModel of this configuration stores.
std::vector<WeightSpec> dac_weight_layout(const DacConfig& config);

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
