#include "model/kv_storage.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernels/gpu/gpu_kernels.h"
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

}  // namespace predgen
