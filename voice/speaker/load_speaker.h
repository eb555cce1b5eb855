#pragma once

#include <ATen/ATen.h>

#include <filesystem>

#include "voice/speaker/speaker_network.h"
#include "voice/waveform.h"

namespace predgen {

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
