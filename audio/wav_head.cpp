#include "audio/wav_head.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace predgen {
namespace {

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

}  // namespace

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

}  // namespace predgen
