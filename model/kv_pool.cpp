#include "model/kv_pool.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernels/gpu/gpu_kernels.h"
#include "model/sequence_state.h"
#include "model/state_history.h"
#include "model/stream_priority.h"

namespace predgen {

KvStorage::KvStorage(KvPool& pool, int64_t begin, int64_t num_positions, const SequenceState* but)
    : pool_(pool), begin_(begin), capacity_(num_positions) {
  pool.make_room(capacity_, but);
  for (int64_t i = 0; i < pool.layout().num_layers; ++i) {
    keys.push_back(make_layer(keys.size(), capacity_));
    values.push_back(make_layer(values.size(), capacity_));
  }
  pool.num_allocated_ += capacity_;
  pool.storages_.push_back(this);
}

KvStorage::~KvStorage() {
  pool_.num_allocated_ -= capacity_;
  pool_.num_swapped_out_ -= num_swapped_out_;
  std::erase(pool_.storages_, this);
}

void KvStorage::touch() {
  const auto place = std::ranges::find(pool_.storages_, this);
  std::rotate(place, place + 1, pool_.storages_.end());
}

bool KvStorage::is_in_pass() const {
  return std::ranges::any_of(readers,
                             [](const SequenceState* cache) { return cache->write_end_ > 0; });
}

void KvStorage::swap_out() {
  int64_t end = begin_;
  for (const SequenceState* cache : readers) end = std::max(end, cache->read_end(*this));
  const int64_t length = end - begin_;
  // First, so that a failure half-way counts as swapped out and is restored later.
  pool_.num_allocated_ -= std::exchange(capacity_, 0);
  pool_.num_swapped_out_ += num_swapped_out_ = length;
  for (std::vector<at::Tensor>* side : {&keys, &values}) {
    for (at::Tensor& layer : *side) {
      const at::Tensor kept = layer.narrow(2, 0, length);
      layer = kept.to(kept.options().device(at::kCPU), /*non_blocking=*/false, /*copy=*/true);
    }
  }
}

void KvStorage::grow(int64_t new_capacity, int64_t length, const SequenceState* but) {
  pool_.make_room(new_capacity - capacity_, but);
  for (std::vector<at::Tensor>* side : {&keys, &values}) {
    for (size_t i = 0; i < side->size(); ++i) {
      at::Tensor& layer = (*side)[i];
      const at::Tensor old = layer;
      layer = make_layer(i, new_capacity);
      layer.narrow(2, 0, length).copy_(old.narrow(2, 0, length));
    }
  }
  pool_.num_copied_ += length;
  pool_.num_allocated_ += new_capacity - capacity_;
  pool_.num_swapped_out_ -= std::exchange(num_swapped_out_, 0);
  capacity_ = new_capacity;
}

void KvStorage::copy_from(const KvStorage& other, int64_t begin, int64_t end) {
  const auto copy = [&](const at::Tensor& to, const at::Tensor& from) {
    to.narrow(2, begin - begin_, end - begin)
        .copy_(from.narrow(2, begin - other.begin_, end - begin));
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    copy(keys[i], other.keys[i]);
    copy(values[i], other.values[i]);
  }
  pool_.num_copied_ += end - begin;
}

bool KvStorage::move_rows(int64_t to, std::span<const int64_t> from) {
  const KvLayout& layout = pool_.layout();
  const at::ScalarType type = keys.front().scalar_type();
  const bool is_wide = type == at::kFloat, is_known = is_wide || type == at::kBFloat16;
  if (!layout.kernels || !is_known || from.size() > kMaxGpuTokens) return false;
  const at::Device device = keys.front().device();
  const c10::DeviceGuard guard(device);
  void* const stream = device.is_cuda() ? current_cuda_stream(device) : nullptr;
  for (size_t first = 0; first < keys.size(); first += kMaxGpuKeptLayers) {
    GpuKeptPath path{};
    const size_t end = std::min(keys.size(), first + kMaxGpuKeptLayers);
    for (size_t i = first; i < end; ++i) {
      path.caches[path.num_layers++] = {keys[i].mutable_data_ptr(), values[i].mutable_data_ptr(),
                                        keys[i].size(2)};
    }
    for (const int64_t row : from) path.from[path.count++] = static_cast<int32_t>(row);
    path.begin = to - begin_;
    path.num_key_heads = static_cast<int>(layout.num_kv_heads);
    path.head_dim = static_cast<int>(layout.head_dim);
    layout.kernels->keep_path(is_wide ? GpuType::kFloat32 : GpuType::kBfloat16, path, stream);
  }
  if (const char* problem = layout.kernels->error()) {
    throw Error("the kernel that keeps a path cannot be launched: {}", problem);
  }
  return true;
}

at::Tensor KvStorage::make_layer(size_t layer, int64_t num_positions) const {
  // A tensor made under InferenceMode could not be written outside it.
  const c10::InferenceMode off(false);
  const KvLayout& layout = pool_.layout();
  const auto [num_heads, head_dim] = layout.heads(static_cast<int64_t>(layer));
  return at::empty({1, num_heads, num_positions, head_dim}, layout.options);
}

int64_t KvLayout::bytes_per_position() const {
  int64_t values = 0;
  for (int64_t i = 0; i < num_layers; ++i) values += heads(i).first * heads(i).second;
  return 2 * values * static_cast<int64_t>(options.dtype().itemsize());
}

int64_t KvLayout::positions_per_snapshot() const {
  if (bytes_per_snapshot == 0) return 0;
  const int64_t position = bytes_per_position();
  return (bytes_per_snapshot + position - 1) / position;
}

KvPool::KvPool(const KvLayout& layout, int64_t max_positions)
    : layout_(layout), max_positions_(max_positions) {
  PREDGEN_CHECK(layout.num_layers > 0 || layout.bytes_per_snapshot == 0,
                "a cache of {} layers, whose positions count snapshots", layout.num_layers);
}

int64_t KvPool::num_snapshots() const {
  return std::ranges::count_if(points_,
                               [](const StatePoint* one) { return !one->is_swapped_out(); });
}

int64_t KvPool::num_available(const SequenceState* but) const {
  int64_t available = num_free();
  for (const KvStorage* storage : storages_) {
    const bool is_kept = (but && but->reads(*storage)) || storage->is_in_pass();
    if (!is_kept) available += storage->capacity();
  }
  for (const StatePoint* point : points_) {
    const bool is_kept =
        (but && but->reads(*point)) || point->is_in_pass() || point->is_swapped_out();
    if (!is_kept) available += layout_.positions_per_snapshot();
  }
  return available;
}

void KvPool::make_room(int64_t num_positions, const SequenceState* but) {
  if (num_free() >= num_positions) return;
  if (const int64_t available = num_available(but); available < num_positions) {
    throw UserError(
        "the KV pool is full: of its {} positions {} can be had, and {} are wanted; give the pool "
        "more, or run less at a time",
        max_positions_, available, num_positions);
  }
  for (KvStorage* storage : storages_) {
    if (num_free() >= num_positions) return;
    if (but && but->reads(*storage)) continue;
    if (!storage->is_swapped_out() && !storage->is_in_pass()) storage->swap_out();
  }
  for (StatePoint* point : points_) {
    if (num_free() >= num_positions) return;
    if (but && but->reads(*point)) continue;
    if (!point->is_swapped_out() && !point->is_in_pass()) point->swap_out();
  }
}

std::unique_ptr<SequenceState> KvPool::make_state(int64_t capacity) {
  PREDGEN_CHECK(capacity > 0, "a cache needs room for at least one position");
  return std::unique_ptr<SequenceState>(new SequenceState(*this, capacity));
}

}  // namespace predgen
