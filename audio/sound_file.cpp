#include "audio/sound_file.h"

#include <sndfile.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "audio/sound_error.h"
#include "audio/wav_head.h"
#include "core/error.h"

namespace predgen {

/// A head, if the file has to have another one, and what follows.
struct SoundFile::Bytes {
  explicit Bytes(std::unique_ptr<std::istream> from) : stream(std::move(from)) {
    stream->seekg(0, std::ios::end);
    length = stream->tellg();
    if (length <= 0) return;
    if (std::optional<WavHead> mended = mended_wav_head(*stream, length)) {
      head = std::move(mended->bytes);
      begin = mended->begin;
    }
  }
  int64_t size() const { return std::ssize(head) + length - begin; }
  int64_t read(char* into, int64_t count) {
    int64_t done = 0;
    if (place < std::ssize(head)) {
      done = std::min(count, std::ssize(head) - place);
      std::copy_n(head.begin() + place, done, into);
    }
    stream->clear();
    stream->seekg(begin + place + done - std::ssize(head));
    stream->read(into + done, count - done);
    done += stream->gcount();
    place += done;
    return done;
  }

  std::unique_ptr<std::istream> stream;
  std::string head;
  int64_t length = 0, begin = 0;  // of the file (-1: unreadable); of what follows the head in it
  int64_t place = 0;              // of the next byte
};

namespace {

template <typename Of>
SF_VIRTUAL_IO sound_io() {
  return {
      .get_filelen = [](void* bytes) -> sf_count_t { return static_cast<Of*>(bytes)->size(); },
      .seek = [](sf_count_t offset, int whence, void* bytes) -> sf_count_t {
        auto& file = *static_cast<Of*>(bytes);
        const int64_t from = whence == SEEK_CUR ? file.place : whence == SEEK_END ? file.size() : 0;
        file.place = std::clamp<int64_t>(from + offset, 0, file.size());
        return file.place;
      },
      .read = [](void* into, sf_count_t count, void* bytes) -> sf_count_t {
        return static_cast<Of*>(bytes)->read(static_cast<char*>(into), count);
      },
      .write = [](const void*, sf_count_t, void*) -> sf_count_t { return 0; },
      .tell = [](void* bytes) -> sf_count_t { return static_cast<Of*>(bytes)->place; }};
}

}  // namespace

SoundFile::~SoundFile() = default;

SoundFile::SoundFile(const std::filesystem::path& file)
    : prefix_(file.string() + ": "), file_(nullptr, sf_close) {
  if (!std::filesystem::is_regular_file(file)) throw UserError("{}no such file", prefix_);
  open(std::make_unique<Bytes>(std::make_unique<std::ifstream>(file, std::ios::binary)));
}

SoundFile::SoundFile(std::string bytes) : file_(nullptr, sf_close) {
  open(std::make_unique<Bytes>(std::make_unique<std::istringstream>(std::move(bytes))));
}

void SoundFile::open(std::unique_ptr<Bytes> bytes) {
  if (bytes->length < 0) throw UserError("{}cannot be read", prefix_);
  if (bytes->length == 0) throw UserError("{}is empty", prefix_);
  bytes_ = std::move(bytes);
  SF_INFO info{};
  SF_VIRTUAL_IO io = sound_io<Bytes>();
  file_.reset(sf_open_virtual(&io, SFM_READ, &info, bytes_.get()));
  if (!file_) {
    throw UserError("{}cannot be read as sound: {}", prefix_, sound_error(sf_strerror(nullptr)));
  }
  if (info.frames == 0) throw UserError("{}holds no sound", prefix_);
  sample_rate_ = info.samplerate;
  num_channels_ = info.channels;
}

int64_t SoundFile::read(std::span<float> into) {
  const int64_t count = sf_readf_float(file_.get(), into.data(), std::ssize(into) / num_channels_);
  if (sf_error(file_.get()) != SF_ERR_NO_ERROR) {
    throw UserError("{}cannot be read as sound: {}", prefix_,
                    sound_error(sf_strerror(file_.get())));
  }
  return count;
}

}  // namespace predgen
