#include "runtime/listen/sound_in_memory.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "runtime/listen/recogniser.h"
#include "runtime/speech/calling_sink.h"
#include "voice/sound_error.h"

namespace predgen {
namespace {

constexpr int kSlowestUpload = 4000, kFastestUpload = 192'000;  // Hz
constexpr size_t kFramesAtOnce = 16384;

[[noreturn]] void fail_sound(sf_private_tag* file) {
  throw UserError("cannot be read as sound: {}", sound_error(sf_strerror(file)));
}

}  // namespace

struct SoundInMemory::Bytes {
  std::string_view all;
  sf_count_t position = 0;

  static Bytes& at(void* data) { return *static_cast<Bytes*>(data); }
  sf_count_t size() const { return static_cast<sf_count_t>(all.size()); }

  static SF_VIRTUAL_IO calls() {
    return {.get_filelen = [](void* data) { return at(data).size(); },
            .seek =
                [](sf_count_t offset, int whence, void* data) {
                  Bytes& from = at(data);
                  const sf_count_t begin = whence == SEEK_SET   ? 0
                                           : whence == SEEK_CUR ? from.position
                                                                : from.size();
                  return from.position = std::clamp(begin + offset, sf_count_t{0}, from.size());
                },
            .read =
                [](void* into, sf_count_t most, void* data) {
                  Bytes& from = at(data);
                  const sf_count_t count = std::min(most, from.size() - from.position);
                  std::memcpy(into, from.all.data() + from.position, static_cast<size_t>(count));
                  from.position += count;
                  return count;
                },
            .write = [](const void*, sf_count_t, void*) { return sf_count_t{0}; },
            .tell = [](void* data) { return at(data).position; }};
  }
};

void SoundInMemory::Close::operator()(sf_private_tag* file) const { sf_close(file); }

SoundInMemory::SoundInMemory(std::string_view bytes)
    : bytes_(std::make_unique<Bytes>(Bytes{.all = bytes})) {
  if (bytes.empty()) throw UserError("is empty");
  SF_INFO info{};
  SF_VIRTUAL_IO calls = Bytes::calls();
  file_.reset(sf_open_virtual(&calls, SFM_READ, &info, bytes_.get()));
  if (!file_) fail_sound(nullptr);
  if (info.samplerate < kSlowestUpload || info.samplerate > kFastestUpload) {
    throw UserError("has {} Hz, but must have {} to {}", info.samplerate, kSlowestUpload,
                    kFastestUpload);
  }
  num_channels_ = static_cast<size_t>(info.channels);
  frames_.resize(kFramesAtOnce * num_channels_);
  resampler_ = std::make_unique<ResamplingSink>(
      std::make_unique<CallingSink>([this](std::span<const float> samples) {
        block_.insert(block_.end(), samples.begin(), samples.end());
      }),
      info.samplerate, kRecogniserRate);
}

SoundInMemory::~SoundInMemory() = default;

std::vector<float> SoundInMemory::read() {
  while (resampler_ && block_.empty()) {
    const sf_count_t count = sf_readf_float(file_.get(), frames_.data(), kFramesAtOnce);
    if (sf_error(file_.get()) != SF_ERR_NO_ERROR) fail_sound(file_.get());
    std::vector<float> mono(static_cast<size_t>(std::max(count, sf_count_t{0})));
    for (size_t i = 0; i < mono.size(); ++i) {
      const auto frame = std::span(frames_).subspan(i * num_channels_, num_channels_);
      const float mean =
          std::accumulate(frame.begin(), frame.end(), 0.0f) / static_cast<float>(num_channels_);
      mono[i] = std::isfinite(mean) ? std::clamp(mean, -1.0f, 1.0f) : 0;
    }
    resampler_->write(mono);
    if (!mono.empty()) continue;
    resampler_->drain();
    resampler_.reset();
  }
  return std::exchange(block_, {});
}

}  // namespace predgen
