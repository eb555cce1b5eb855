#pragma once

#include <ATen/ATen.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "tensors/safetensors.h"
#include "voice/waveform.h"

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

constexpr int64_t kSpeakerEmbeddingSize = 128;

/// A voice in a file: safetensors with one tensor "speaker_embedding", float32 [128].
void save_speaker_embedding(const std::filesystem::path& file, const at::Tensor& embedding);
/// UserError if the file holds anything else.
at::Tensor load_speaker_embedding(const std::filesystem::path& file);

/// Computes speaker embeddings: Zonos' speaker network and the linear projection after it. Runs on
/// the CPU, for seconds, and only once per voice: voice/speaker/load_speaker.h stores the
/// result. Immutable, used by any number of threads.
class SpeakerEncoder {
 public:
  /// The two published .pt files, converted by scripts/convert_pickled.py. UserError names missing,
  /// superfluous and misshapen tensors. `sizes`: other than the published ones in tests.
  SpeakerEncoder(const std::filesystem::path& network_file,
                 const std::filesystem::path& projection_file,
                 const SpeakerNetworkSizes& sizes = {});

  /// The embedding, float32 [128]. UserErrors of mono_at(), and if the sound is shorter than 257
  /// samples at 16 kHz or longer than 5 minutes.
  at::Tensor embed(const Waveform& waveform) const;

 private:
  const SpeakerNetwork network_;
  at::Tensor weight_, bias_;  // of the projection
};

/// The speaker embedding, float [128], from a file that holds it (.safetensors), or from a
/// recording of the speaker, for which `speaker_model` computes it once; the result is kept in the
/// user's cache folder ($XDG_CACHE_HOME/predgen or ~/.cache/predgen) under the recording's content.
/// `speaker_model`: a folder with Zyphra's two speaker files, converted to safetensors. UserError
/// for anything missing or unusable.
at::Tensor load_speaker(const std::filesystem::path& file,
                        const std::filesystem::path& speaker_model);

}  // namespace predgen
