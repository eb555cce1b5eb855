#include "audio/sound_encoder.h"

#include <sndfile.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "audio/sample_encoding.h"
#include "audio/sound_file.h"
#include "core/error.h"

namespace predgen {
namespace {

struct EncodedForm {
  SoundFormat format;
  const char *name, *media_type;
  int encoder;  // of libsndfile; 0: none is needed
};

const std::vector<EncodedForm>& encoded_forms() {
  static const std::vector<EncodedForm> forms{
      {SoundFormat::kMp3, "mp3", "audio/mpeg", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III},
      {SoundFormat::kOpus, "opus", "audio/ogg", SF_FORMAT_OGG | SF_FORMAT_OPUS},
      {SoundFormat::kFlac, "flac", "audio/flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
      {SoundFormat::kWav, "wav", "audio/wav", 0},
      {SoundFormat::kPcm, "pcm", "audio/pcm", 0}};
  return forms;
}

const EncodedForm& form_of(SoundFormat format) {
  return *std::ranges::find(encoded_forms(), format, &EncodedForm::format);
}

/// The header of a file whose length is not known.
std::string wav_header(int sample_rate) {
  const auto number = [](uint32_t value, int num_bytes) {
    std::string bytes;
    for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  constexpr uint32_t kUnknown = 0xFFFFFFFF, kPcm = 1, kChannels = 1, kBytes = 2;
  const auto rate = static_cast<uint32_t>(sample_rate);
  return "RIFF" + number(kUnknown, 4) + "WAVEfmt " + number(16, 4) + number(kPcm, 2) +
         number(kChannels, 2) + number(rate, 4) + number(rate * kBytes, 4) + number(kBytes, 2) +
         number(8 * kBytes, 2) + "data" + number(kUnknown, 4);
}

}  // namespace

/// A file that was sent as far as it is written. What an encoder corrects in it afterwards, such as
/// its length, is dropped.
struct SoundEncoder::Output {
  std::string bytes{};  // not taken yet
  sf_count_t length = 0, position = 0;

  static Output& at(void* data) { return *static_cast<Output*>(data); }

  static SF_VIRTUAL_IO calls() {
    return {.get_filelen = [](void* data) { return at(data).length; },
            .seek =
                [](sf_count_t offset, int whence, void* data) {
                  Output& to = at(data);
                  const sf_count_t from = whence == SEEK_SET   ? 0
                                          : whence == SEEK_CUR ? to.position
                                                               : to.length;
                  return to.position = from + offset;
                },
            .read = [](void*, sf_count_t, void*) { return sf_count_t{0}; },
            .write =
                [](const void* some, sf_count_t count, void* data) {
                  Output& to = at(data);
                  if (to.position == to.length) {
                    to.bytes.append(static_cast<const char*>(some), static_cast<size_t>(count));
                    to.length += count;
                  }
                  to.position += count;
                  return count;
                },
            .tell = [](void* data) { return at(data).position; }};
  }
};

void SoundEncoder::Close::operator()(sf_private_tag* file) const { sf_close(file); }

const std::vector<std::pair<std::string, SoundFormat>>& sound_formats() {
  static const auto formats = [] {
    std::vector<std::pair<std::string, SoundFormat>> list;
    for (const EncodedForm& form : encoded_forms()) list.emplace_back(form.name, form.format);
    return list;
  }();
  return formats;
}

std::string media_type(SoundFormat format) { return form_of(format).media_type; }

SoundEncoder::SoundEncoder(SoundFormat format, int sample_rate)
    : format_(format), output_(std::make_unique<Output>()) {
  if (format == SoundFormat::kWav) output_->bytes = wav_header(sample_rate);
  const int encoder = form_of(format).encoder;
  if (encoder == 0) return;
  SF_INFO info{};
  info.samplerate = sample_rate;
  info.channels = 1;
  info.format = encoder;
  SF_VIRTUAL_IO calls = Output::calls();
  file_.reset(sf_open_virtual(&calls, SFM_WRITE, &info, output_.get()));
  if (!file_) {
    throw UserError("this machine's libsndfile does not write {}: {}", form_of(format).name,
                    sound_error(sf_strerror(nullptr)));
  }
  if (format == SoundFormat::kMp3) {
    // Without a length in their header, readers judge a file's length by its first bit rate.
    int mode = SF_BITRATE_MODE_CONSTANT;
    double compression = 0.6;  // 64 kbit/s at 24 kHz
    sf_command(file_.get(), SFC_SET_BITRATE_MODE, &mode, sizeof mode);
    sf_command(file_.get(), SFC_SET_COMPRESSION_LEVEL, &compression, sizeof compression);
  }
  double page_ms = 100;  // Ogg's pages are a second long otherwise
  sf_command(file_.get(), SFC_SET_OGG_PAGE_LATENCY_MS, &page_ms, sizeof page_ms);
}

SoundEncoder::~SoundEncoder() = default;

std::string SoundEncoder::take() { return std::exchange(output_->bytes, {}); }

std::string SoundEncoder::encode(std::span<const float> samples) {
  if (!file_) {
    const std::vector<int16_t> pcm = to_pcm16(samples);
    return take().append(bytes_of(pcm));
  }
  std::vector<float> clipped(samples.begin(), samples.end());
  for (float& sample : clipped) sample = std::clamp(sample, -1.0f, 1.0f);
  const auto count = static_cast<sf_count_t>(clipped.size());
  if (sf_write_float(file_.get(), clipped.data(), count) != count) {
    throw Error("the {} encoder fails: {}", form_of(format_).name,
                sound_error(sf_strerror(file_.get())));
  }
  return take();
}

std::string SoundEncoder::finish() {
  file_.reset();
  return take();
}

}  // namespace predgen
