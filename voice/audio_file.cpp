#include "voice/audio_file.h"

#include <ATen/ATen.h>
#include <sndfile.h>

#include <memory>
#include <vector>

#include "core/error.h"
#include "voice/sound_error.h"

namespace predgen {

Waveform read_audio_file(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) throw UserError("{}: no such file", file.string());
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> opened(sf_open(file.c_str(), SFM_READ, &info),
                                                           sf_close);
  if (!opened) {
    throw UserError("{}: cannot be read as sound: {}", file.string(),
                    sound_error(sf_strerror(nullptr)));
  }
  // Not sized from the header: a broken one may give any number.
  std::vector<float> samples;
  std::vector<float> block(static_cast<size_t>(info.channels) * 65536);
  sf_count_t count = 0;
  while ((count = sf_readf_float(opened.get(), block.data(), 65536)) > 0) {
    samples.insert(samples.end(), block.begin(), block.begin() + count * info.channels);
  }
  if (sf_error(opened.get()) != SF_ERR_NO_ERROR) {
    throw UserError("{}: cannot be read as sound: {}", file.string(),
                    sound_error(sf_strerror(opened.get())));
  }
  if (samples.empty()) throw UserError("{}: holds no sound", file.string());
  const auto num_values = static_cast<int64_t>(samples.size());
  const at::Tensor interleaved =
      at::from_blob(samples.data(), {num_values / info.channels, info.channels}, at::kFloat);
  return {file.string(), info.samplerate, interleaved.t().clone(at::MemoryFormat::Contiguous)};
}

}  // namespace predgen
