#include "core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/error.h"

namespace predgen {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::string_view bytes) {
  const uint64_t size = bytes.size();
  XXH3_128bits_update(state_->xxh, &size, sizeof size);
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::add_file(const std::filesystem::path& file) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) {
    throw UserError("{}: cannot be read: {}", file.string(),
                    error ? error.message() : std::strerror(errno));
  }
  XXH3_128bits_update(state_->xxh, &size, sizeof size);
  std::vector<char> chunk(1 << 20);  // weights and corpora may be larger than memory
  uint64_t num_read = 0;
  while (stream.read(chunk.data(), std::ssize(chunk)) || stream.gcount() > 0) {
    XXH3_128bits_update(state_->xxh, chunk.data(), static_cast<size_t>(stream.gcount()));
    num_read += static_cast<uint64_t>(stream.gcount());
  }
  if (num_read != size) throw Error("{}: changed while it was read", file.string());
  return *this;
}

std::string Hasher::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace predgen
