#include "audio/audio_sink.h"

#include <sndfile.h>

#include "audio/sound_file.h"
#include "core/error.h"

namespace predgen {

void WavSink::Close::operator()(sf_private_tag* file) const { sf_close(file); }

WavSink::WavSink(const std::filesystem::path& file, int sample_rate) : path_(file) {
  SF_INFO info{};
  info.samplerate = sample_rate;
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  file_.reset(sf_open(file.c_str(), SFM_WRITE, &info));
  if (!file_) {
    throw UserError("cannot write audio to {}: {}", file.string(),
                    sound_error(sf_strerror(nullptr)));
  }
  sf_command(file_.get(), SFC_SET_CLIPPING, nullptr, SF_TRUE);
  sf_command(file_.get(), SFC_SET_UPDATE_HEADER_AUTO, nullptr, SF_TRUE);
}

void WavSink::take(std::span<const float> samples) {
  const auto count = static_cast<sf_count_t>(samples.size());
  if (sf_write_float(file_.get(), samples.data(), count) != count) {
    throw Error("cannot write audio to {}: {}", path_.string(),
                sound_error(sf_strerror(file_.get())));
  }
}

void WavSink::drain() { sf_write_sync(file_.get()); }

}  // namespace predgen
