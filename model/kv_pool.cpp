#include "model/kv_pool.h"

#include <algorithm>

#include "core/error.h"
#include "model/kv_storage.h"
#include "model/state_point.h"

namespace predgen {

int64_t KvLayout::bytes_per_position() const {
  int64_t values = 0;
  for (int64_t i = 0; i < num_layers; ++i) values += heads(i).first * heads(i).second;
  return 2 * values * static_cast<int64_t>(options.dtype().itemsize());
}

int64_t KvLayout::positions_per_snapshot() const {
  const int64_t position = bytes_per_position();
  return (bytes_per_snapshot + position - 1) / position;
}

KvPool::KvPool(const KvLayout& layout, int64_t max_positions)
    : layout_(layout), max_positions_(max_positions) {
  PREDGEN_CHECK(layout.num_layers > 0, "a cache of {} layers", layout.num_layers);
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
