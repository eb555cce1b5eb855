#include "voice/audio_file.h"

#include <ATen/ATen.h>

#include <vector>

#include "audio/sound_file.h"
#include "core/error.h"

namespace predgen {

Waveform read_audio_file(const std::filesystem::path& file) {
  SoundFile sound(file);
  // Not sized from the header: a broken one may give any number.
  std::vector<float> samples;
  std::vector<float> block(static_cast<size_t>(sound.num_channels()) * 65536);
  while (const int64_t count = sound.read(block)) {
    samples.insert(samples.end(), block.begin(), block.begin() + count * sound.num_channels());
  }
  if (samples.empty()) throw UserError("{}: holds no sound", file.string());
  const int64_t num_values = std::ssize(samples);
  const at::Tensor interleaved = at::from_blob(
      samples.data(), {num_values / sound.num_channels(), sound.num_channels()}, at::kFloat);
  return {file.string(), sound.sample_rate(), interleaved.t().clone(at::MemoryFormat::Contiguous)};
}

}  // namespace predgen
