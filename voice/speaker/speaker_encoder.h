#pragma once

#include <ATen/ATen.h>

#include <filesystem>

#include "voice/speaker/speaker_network.h"
#include "voice/waveform.h"

namespace predgen {

/// Computes speaker embeddings: Zonos' speaker network and the linear projection after it. Runs on
/// the CPU, for seconds, and only once per voice: voice/speaker/speaker_embedding.h stores the
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

}  // namespace predgen
