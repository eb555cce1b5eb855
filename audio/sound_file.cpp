#include "audio/sound_file.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <istream>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "audio/audio_source.h"
#include "core/error.h"

namespace predgen {
namespace {

/// What stands before the sound of a WAV file.
struct WavHead {
  std::string bytes;  // as they should be
  int64_t begin = 0;  // of the sound in the file
};

constexpr int64_t kHeadBytes = 8;           // a name of four letters, and a size
constexpr int64_t kMostSound = 0xFFFFF000;  // bytes, that a WAV file can say
constexpr size_t kLongestFormat = 4096, kAlignmentPlace = 12;
constexpr int kMostChunks = 1000;

std::string bytes_at(std::istream& file, int64_t begin, size_t count) {
  std::string bytes(count, '\0');
  file.clear();
  file.seekg(begin);
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

int64_t little_endian(std::string_view bytes) {  // little-endian
  int64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string four_bytes(int64_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

struct Chunk {
  std::string name;
  int64_t begin = 0, size = 0;  // of its content
  int64_t end() const { return begin + size; }
};

/// The chunk whose head is at `place`; nullopt: there is none.
std::optional<Chunk> chunk_at(std::istream& file, int64_t place) {
  const std::string head = bytes_at(file, place, kHeadBytes);
  if (std::ssize(head) < kHeadBytes) return std::nullopt;
  const std::string_view name = std::string_view(head).substr(0, 4);
  if (std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c > '~'; })) {
    return std::nullopt;
  }
  return Chunk{std::string(name), place + kHeadBytes,
               little_endian(std::string_view(head).substr(4))};
}

/// The chunk after this one, which should be padded to an even size, and may not be.
std::optional<Chunk> next_chunk(std::istream& file, const Chunk& chunk, bool& is_padded) {
  if (const auto next = chunk.size % 2 == 1 ? chunk_at(file, chunk.end()) : std::nullopt) {
    is_padded = false;
    return next;
  }
  is_padded = true;
  return chunk_at(file, chunk.end() + chunk.size % 2);
}

/// Whether the sound ends where its chunk says so.
bool ends_there(std::istream& file, const Chunk& sound, int64_t length) {
  if (sound.end() > length) return false;
  if (length - sound.end() <= 1) return true;
  bool is_padded = true;
  const std::optional<Chunk> next = next_chunk(file, sound, is_padded);
  return next && next->end() <= length + 1;
}

/// The head of a WAV file whose own is wrong: its sizes were never filled in, the file is cut off,
/// or a chunk before the sound lacks its padding. nullopt: it is right, or no WAV file's. `length`:
/// of the file, in bytes.
std::optional<WavHead> mended_wav_head(std::istream& file, int64_t length) {
  const std::string first = bytes_at(file, 0, 12);
  if (!first.starts_with("RIFF") || !first.ends_with("WAVE") || first.size() < 12) return {};
  std::string format;
  bool is_right = true;
  std::optional<Chunk> chunk = chunk_at(file, 12);
  for (int count = 0; chunk && chunk->name != "data" && count < kMostChunks; ++count) {
    if (chunk->name == "fmt ") {
      format =
          bytes_at(file, chunk->begin, std::min(static_cast<size_t>(chunk->size), kLongestFormat));
    }
    bool is_padded = true;
    chunk = next_chunk(file, *chunk, is_padded);
    is_right = is_right && is_padded;
  }
  if (!chunk || chunk->name != "data" || format.size() < kAlignmentPlace + 2) return {};
  const bool ends = ends_there(file, *chunk, length);
  if (is_right && ends) return {};
  const int64_t frame = std::max<int64_t>(1, little_endian(format.substr(kAlignmentPlace, 2)));
  int64_t size = ends ? chunk->size : std::min(length - chunk->begin, kMostSound);
  size -= size % frame;
  if (format.size() % 2 != 0) format += '\0';
  const std::string parts = "WAVEfmt " + four_bytes(std::ssize(format)) + format + "data";
  return WavHead{"RIFF" + four_bytes(std::ssize(parts) + 4 + size) + parts + four_bytes(size),
                 chunk->begin};
}

}  // namespace

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

namespace {

constexpr int kSlowestUpload = 4000, kFastestUpload = 192'000;  // Hz
constexpr size_t kFramesAtOnce = 16384;

}  // namespace

SoundInMemory::SoundInMemory(std::string bytes) : file_(std::move(bytes)) {
  if (file_.sample_rate() < kSlowestUpload || file_.sample_rate() > kFastestUpload) {
    throw UserError("has {} Hz, but must have {} to {}", file_.sample_rate(), kSlowestUpload,
                    kFastestUpload);
  }
  frames_.resize(kFramesAtOnce * static_cast<size_t>(file_.num_channels()));
  resampler_.emplace(file_.sample_rate(), kRecogniserRate);
}

std::vector<float> SoundInMemory::read() {
  while (resampler_ && block_.empty()) {
    const auto num_channels = static_cast<size_t>(file_.num_channels());
    std::vector<float> mono(static_cast<size_t>(file_.read(frames_)));
    for (size_t i = 0; i < mono.size(); ++i) {
      const auto frame = std::span(frames_).subspan(i * num_channels, num_channels);
      const float mean =
          std::accumulate(frame.begin(), frame.end(), 0.0f) / static_cast<float>(num_channels);
      mono[i] = std::isfinite(mean) ? std::clamp(mean, -1.0f, 1.0f) : 0;
    }
    resampler_->add(mono, block_);
    if (!mono.empty()) continue;
    resampler_->finish(block_);
    resampler_.reset();
  }
  return std::exchange(block_, {});
}

}  // namespace predgen
