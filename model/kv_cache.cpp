#include "model/kv_cache.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace predgen {

/// Keys and values [1,H,capacity,D] of each layer, and their readers. When parked, the capacity is
/// 0 and the contents are in host memory.
class KvStorage {
 public:
  KvStorage(KvPool& pool, int64_t num_positions) : capacity(num_positions), pool_(pool) {
    pool.make_room(capacity, nullptr);
    for (int64_t i = 0; i < pool.layout().num_layers; ++i) {
      keys.push_back(make_layer(capacity));
      values.push_back(make_layer(capacity));
    }
    pool.num_allocated_ += capacity;
    pool.storages_.push_back(this);
  }
  ~KvStorage() {
    pool_.num_allocated_ -= capacity;
    pool_.num_parked_ -= num_parked_;
    std::erase(pool_.storages_, this);
  }
  KvStorage(const KvStorage&) = delete;
  KvStorage& operator=(const KvStorage&) = delete;

  /// Marks it as the most recently used.
  void touch() {
    const auto place = std::ranges::find(pool_.storages_, this);
    std::rotate(place, place + 1, pool_.storages_.end());
  }

  bool is_in_pass() const {
    return std::ranges::any_of(readers, [](const KvCache* cache) { return cache->write_end_ > 0; });
  }

  void park() {
    int64_t length = 0;
    for (const KvCache* cache : readers) length = std::max(length, cache->length_);
    // First, so that a failure half-way counts as parked and is restored later.
    pool_.num_allocated_ -= std::exchange(capacity, 0);
    pool_.num_parked_ += num_parked_ = length;
    for (std::vector<at::Tensor>* side : {&keys, &values}) {
      for (at::Tensor& layer : *side) {
        const at::Tensor kept = layer.narrow(2, 0, length);
        layer = kept.to(kept.options().device(at::kCPU), /*non_blocking=*/false, /*copy=*/true);
      }
    }
  }

  /// Layer by layer, so that only one layer exists twice.
  void grow(int64_t new_capacity, int64_t length) {
    pool_.make_room(new_capacity - capacity, this);
    for (std::vector<at::Tensor>* side : {&keys, &values}) {
      for (at::Tensor& layer : *side) {
        const at::Tensor old = layer;
        layer = make_layer(new_capacity);
        layer.narrow(2, 0, length).copy_(old.narrow(2, 0, length));
      }
    }
    pool_.num_allocated_ += new_capacity - capacity;
    pool_.num_parked_ -= std::exchange(num_parked_, 0);
    capacity = new_capacity;
  }

  void copy_from(const KvStorage& other, int64_t length) {
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i].narrow(2, 0, length).copy_(other.keys[i].narrow(2, 0, length));
      values[i].narrow(2, 0, length).copy_(other.values[i].narrow(2, 0, length));
    }
  }

  int64_t capacity;
  std::vector<at::Tensor> keys, values;
  std::vector<const KvCache*> readers;

 private:
  at::Tensor make_layer(int64_t num_positions) const {
    // A tensor made under InferenceMode could not be written outside it.
    const c10::InferenceMode off(false);
    const KvLayout& layout = pool_.layout();
    return at::empty({1, layout.num_kv_heads, num_positions, layout.head_dim}, layout.options);
  }

  KvPool& pool_;
  int64_t num_parked_ = 0;  // positions
};

namespace {

/// Storage for `needed` positions: doubling keeps copying below one copy per position, as long as
/// there is `room` for it.
int64_t storage_size(int64_t needed, int64_t capacity, int64_t room) {
  constexpr int64_t kStep = 256;
  int64_t size = kStep;
  while (size < needed) size *= 2;
  return std::max(needed, std::min({size, capacity, room}));
}

}  // namespace

int64_t KvLayout::bytes_per_position() const {
  return 2 * num_layers * num_kv_heads * head_dim *
         static_cast<int64_t>(options.dtype().itemsize());
}

KvPool::KvPool(const KvLayout& layout, int64_t max_positions)
    : layout_(layout), max_positions_(max_positions) {
  PREDGEN_CHECK(layout.num_layers > 0, "a cache of {} layers", layout.num_layers);
}

int64_t KvPool::num_available(const KvStorage* but) const {
  int64_t available = num_free();
  for (const KvStorage* storage : storages_) {
    if (storage != but && !storage->is_in_pass()) available += storage->capacity;
  }
  return available;
}

void KvPool::make_room(int64_t num_positions, const KvStorage* but) {
  if (num_free() >= num_positions) return;
  if (const int64_t available = num_available(but); available < num_positions) {
    throw UserError(
        "the KV pool is full: of its {} positions {} can be had, and {} are wanted; give the pool "
        "more, or run less at a time",
        max_positions_, available, num_positions);
  }
  for (KvStorage* storage : storages_) {
    if (num_free() >= num_positions) return;
    if (storage != but && storage->capacity > 0 && !storage->is_in_pass()) storage->park();
  }
}

std::unique_ptr<KvCache> KvPool::make_cache(int64_t capacity) {
  PREDGEN_CHECK(capacity > 0, "a cache needs room for at least one position");
  return std::unique_ptr<KvCache>(new KvCache(*this, capacity));
}

KvCache::KvCache(KvPool& pool, int64_t capacity) : pool_(pool), capacity_(capacity) {}

KvCache::~KvCache() {
  if (storage_) std::erase(storage_->readers, this);
}

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& keys_1HTD,
                                                  const at::Tensor& values_1HTD) {
  const int64_t num_new = keys_1HTD.size(2);
  const auto [keys, values] = writable(layer, num_new);
  const auto write = [&](const at::Tensor& layer_1HSD, const at::Tensor& fresh_1HTD) {
    layer_1HSD.narrow(2, length_, num_new).copy_(fresh_1HTD);
    return layer_1HSD.narrow(2, 0, length_ + num_new);
  };
  return {write(keys, keys_1HTD), write(values, values_1HTD)};
}

std::pair<at::Tensor, at::Tensor> KvCache::writable(int64_t layer, int64_t num_new) {
  reserve(num_new);
  const auto index = static_cast<size_t>(layer);
  return {storage_->keys.at(index), storage_->values.at(index)};
}

void KvCache::reserve(int64_t num_new) {
  PREDGEN_CHECK(length_ + num_new <= capacity_,
                "cache holds {} of {} positions, {} more do not fit", length_, capacity_, num_new);
  prepare_write(length_, length_ + num_new);
  write_end_ = length_ + num_new;
}

bool KvCache::is_parked() const { return storage_ && storage_->capacity == 0; }

void KvCache::prepare_write(int64_t begin, int64_t end) {
  const auto reads_there = [&](const KvCache* reader) {
    return reader != this && std::max(reader->length_, reader->write_end_) > begin;
  };
  if (storage_) storage_->touch();
  if (storage_ && std::ranges::none_of(storage_->readers, reads_there)) {
    if (storage_->capacity >= end) return;
    if (storage_->readers.size() == 1) {
      const int64_t room = storage_->capacity + pool_.num_available(storage_.get());
      return storage_->grow(storage_size(end, capacity_, room), length_);
    }
  }
  const int64_t size = storage_size(end, capacity_, pool_.num_available(nullptr));
  auto own = std::make_shared<KvStorage>(pool_, size);  // may park its source
  own->readers.push_back(this);
  if (storage_) {
    own->copy_from(*storage_, length_);
    std::erase(storage_->readers, this);
  }
  storage_ = std::move(own);
}

void KvCache::commit(int64_t num_tokens) {
  PREDGEN_CHECK(num_tokens >= 0 && length_ + num_tokens <= write_end_, "commit of {}", num_tokens);
  length_ += num_tokens;
  write_end_ = 0;
}

void KvCache::truncate(int64_t length) {
  PREDGEN_CHECK(length >= 0 && length <= length_, "truncate to {} of {}", length, length_);
  length_ = length;
  write_end_ = 0;
}

void KvCache::keep(int64_t begin, std::span<const int64_t> kept) {
  const auto count = static_cast<int64_t>(kept.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = kept[static_cast<size_t>(i)];
    PREDGEN_CHECK(place >= 0 && begin + place < length_ &&
                      (i == 0 || place > kept[static_cast<size_t>(i - 1)]),
                  "position {} cannot be kept after position {} of {}", place, begin, length_);
  }
  // Positions already in place need not move.
  int64_t fixed = 0;
  while (fixed < count && kept[static_cast<size_t>(fixed)] == fixed) ++fixed;
  if (const int64_t moved = count - fixed; moved > 0) {
    prepare_write(begin + fixed, length_);
    const at::Tensor from =
        (at::tensor(at::IntArrayRef(kept.data() + fixed, static_cast<size_t>(moved)), at::kLong) +
         begin)
            .to(pool_.layout().options.device());
    for (std::vector<at::Tensor>* side : {&storage_->keys, &storage_->values}) {
      for (at::Tensor& layer : *side) {
        layer.narrow(2, begin + fixed, moved).copy_(layer.index_select(2, from));
      }
    }
  }
  truncate(begin + count);
}

std::unique_ptr<KvCache> KvCache::fork() const {
  std::unique_ptr<KvCache> copy = pool_.make_cache(capacity_);
  copy->storage_ = storage_;
  copy->length_ = length_;
  if (storage_) storage_->readers.push_back(copy.get());
  return copy;
}

}  // namespace predgen
