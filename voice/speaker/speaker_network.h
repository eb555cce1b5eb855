#pragma once

#include <ATen/ATen.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "tensors/safetensors.h"

namespace predgen {

constexpr int64_t kSpeakerRate = 16'000;  // Hz
constexpr int64_t kSpeakerBands = 80;
constexpr int64_t kSpeakerMinSamples = 257;  // fewer cannot be reflect-padded at the ends

/// Log-mel spectrum of samples_N (float32, CPU, 16 kHz, N >= 257), each band's mean over time
/// subtracted: [80, 1 + N/160].
at::Tensor speaker_features(const at::Tensor& samples_N);

/// The defaults are the published network's.
struct SpeakerNetworkSizes {
  int64_t channels = 64;  // of the first stage; each later stage doubles them
  std::array<int64_t, 4> blocks = {10, 20, 64, 3};
  int64_t attention = 128;
  int64_t output = 256;
};

/// Every tensor of the file that inference needs. It may also hold *.num_batches_tracked.
std::vector<WeightSpec> speaker_network_layout(const SpeakerNetworkSizes& sizes);

/// ResNet of SimAM blocks with attentive statistics pooling, in float32 on the CPU. Immutable, used
/// by any number of threads.
class SpeakerNetwork {
 public:
  /// UserError names missing, superfluous and misshapen tensors.
  SpeakerNetwork(const std::filesystem::path& file, const SpeakerNetworkSizes& sizes);

  /// Features [80,T] to [output].
  at::Tensor operator()(const at::Tensor& features_BT) const;

 private:
  /// A convolution with the batch norm after it folded in.
  struct Conv {
    at::Tensor weight, bias;
    int64_t stride = 1;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Block {
    Conv first, second;
    Conv shortcut;  // its weight undefined: the input itself
    at::Tensor operator()(const at::Tensor& x) const;
  };
  static Conv fold(const SafetensorsFile& file, const std::string& conv, const std::string& norm,
                   int64_t stride);
  at::Tensor pool(const at::Tensor& x_ET) const;

  Conv front_;
  std::vector<Block> blocks_;
  at::Tensor attention_in_weight_, attention_in_bias_, attention_scale_, attention_shift_;
  at::Tensor attention_out_weight_, attention_out_bias_;
  at::Tensor bottleneck_weight_, bottleneck_bias_;
};

}  // namespace predgen
