#include "voice/zonos/zonos_cache.h"

#include <atomic>

#include "core/error.h"

namespace predgen {
namespace {

// 2816 positions hold the longest clip of the usual limit, 30 s, and its text.
constexpr int64_t kBuckets[] = {256, 512, 1024, 1536, 2048, 2816, 8192, kZonosMaxPositions};
constexpr int64_t kPositions = 4;  // this dimension of the storage

uint64_t next_identity() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

at::Tensor first_positions(const at::Tensor& storage, int64_t length) {
  return storage.narrow(kPositions, 0, length);
}

}  // namespace

int64_t ZonosCache::bucket(int64_t length) {
  for (const int64_t size : kBuckets) {
    if (length <= size) return size;
  }
  throw UserError(
      "text and audio take {} positions, but the voice model holds only {}: shorten "
      "the text or the audio",
      length, kZonosMaxPositions);
}

ZonosCache::ZonosCache(const ZonosConfig& config, int64_t rows, const at::TensorOptions& options)
    : storage_(at::empty(
          {config.num_layers, 2, rows, config.num_kv_heads, bucket(0), config.head_width()},
          options)),
      identity_(next_identity()) {
  PREDGEN_CHECK(rows == 1 || rows == 2, "{} rows", rows);
}

void ZonosCache::reserve(int64_t length) {
  const int64_t wanted = bucket(length);
  if (wanted <= capacity()) return;
  std::vector<int64_t> sizes = storage_.sizes().vec();
  sizes[kPositions] = wanted;
  const at::Tensor larger = at::empty(sizes, storage_.options());
  first_positions(larger, length_).copy_(first_positions(storage_, length_));
  storage_ = larger;
}

void ZonosCache::set_length(int64_t length) {
  PREDGEN_CHECK(length >= length_ && length <= capacity(), "length {} after {} of {}", length,
                length_, capacity());
  length_ = length;
}

std::pair<at::Tensor, at::Tensor> ZonosCache::layer(int64_t index) const {
  const at::Tensor both = storage_.select(0, index);
  return {both.select(0, 0), both.select(0, 1)};
}

}  // namespace predgen
