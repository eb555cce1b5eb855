#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "tensors/safetensors.h"
#include "voice/dac/dac_weights.h"

namespace predgen {

/// A codec with the released one's strides and few channels.
inline DacConfig small_dac_config() {
  DacConfig config;
  config.encoder_size = 2;
  config.decoder_size = 64;
  config.num_codebooks = 3;
  config.codebook_size = 32;
  config.codebook_dim = 4;
  config.sample_rate = 44100;
  return config;
}

/// As transformers writes it.
inline Json dac_config_json(const DacConfig& config) {
  return {{"model_type", "dac"},
          {"architectures", {"DacModel"}},
          {"encoder_hidden_size", config.encoder_size},
          {"downsampling_ratios", config.strides},
          {"decoder_hidden_size", config.decoder_size},
          {"n_codebooks", config.num_codebooks},
          {"codebook_size", config.codebook_size},
          {"codebook_dim", config.codebook_dim},
          {"sampling_rate", config.sample_rate},
          {"hop_length", config.hop()},
          {"quantizer_dropout", 0.0},
          {"transformers_version", "5.0.0"}};
}

/// Random weights for which outputs are neither silent nor clipped.
inline std::map<std::string, at::Tensor> random_tensors(const std::vector<WeightSpec>& layout,
                                                        uint64_t seed) {
  at::manual_seed(seed);
  std::map<std::string, at::Tensor> tensors;
  for (const WeightSpec& weight : layout) {
    at::Tensor& tensor = tensors[weight.name];
    if (weight.name.ends_with(".alpha") || weight.name.ends_with(".running_var") ||
        (weight.shape.size() == 1 && weight.name.ends_with(".weight"))) {
      tensor = at::rand(weight.shape) + 0.5;
    } else if (weight.name.ends_with("codebook.weight")) {
      tensor = at::randn(weight.shape);
    } else if (weight.shape.size() == 1) {
      tensor = at::randn(weight.shape) * 0.1;
    } else {
      const auto has = [&](const char* part) {
        return weight.name.find(part) != std::string::npos;
      };
      // Of a transposed convolution two taps meet in each output, of any other all.
      const int64_t fan_in = has(".conv_t1.")
                                 ? 2 * weight.shape[0]
                                 : c10::multiply_integers(weight.shape) / weight.shape[0];
      double scale = 1;
      if (has("res_unit") && has("conv2")) scale = 0.3;
      if (has("out_proj")) scale = 0.3;
      if (has("conv_t1") || has("decoder.conv2")) scale = 0.5;
      tensor = at::randn(weight.shape) * (scale / std::sqrt(static_cast<double>(fan_in)));
    }
  }
  return tensors;
}

inline void write_dac(const std::filesystem::path& folder, const DacConfig& config,
                      uint64_t seed = 1) {
  make_folder(folder);
  write_file(folder / "config.json", dac_config_json(config).dump());
  write_safetensors(folder / "model.safetensors", random_tensors(dac_weight_layout(config), seed));
}

inline at::Tensor random_codes(const DacConfig& config, int64_t num_frames, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randint(config.codebook_size, {config.num_codebooks, num_frames}, at::kLong);
}

}  // namespace predgen
