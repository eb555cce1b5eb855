#include "runtime/engine/hidden_rows.h"

#include <algorithm>

namespace predgen {

at::Tensor HiddenRows::rows() const {
  return length_ == 0 ? at::Tensor() : memory_.narrow(0, 0, length_);
}

void HiddenRows::make_room(int64_t end, const at::TensorOptions& options, int64_t width) {
  constexpr int64_t kFirst = 256;
  const int64_t capacity = memory_.defined() ? memory_.size(0) : 0;
  if (end <= capacity && memory_.use_count() == 1) return;
  const int64_t room = std::max({kFirst, capacity, end <= capacity ? 0 : 2 * end});
  const at::Tensor larger = at::empty({room, width}, options);
  if (length_ > 0) larger.narrow(0, 0, length_).copy_(memory_.narrow(0, 0, length_));
  memory_ = larger;
}

void HiddenRows::write(int64_t begin, const at::Tensor& rows_TE) {
  if (begin > length_) return;
  length_ = begin;
  const int64_t count = rows_TE.size(0);
  make_room(begin + count, memory_.defined() ? memory_.options() : rows_TE.options(),
            rows_TE.size(1));
  memory_.narrow(0, begin, count).copy_(rows_TE);
  length_ = begin + count;
}

void HiddenRows::truncate(int64_t length) { length_ = std::min(length_, length); }

void HiddenRows::keep(int64_t begin, std::span<const int64_t> kept) {
  if (begin >= length_) return;
  const at::Tensor places = at::empty({std::ssize(kept)}, at::kLong);
  std::ranges::copy(kept, places.mutable_data_ptr<int64_t>());
  if (!kept.empty()) {
    write(begin, memory_.index_select(0, begin + places.to(memory_.device())));
  }
  length_ = begin + std::ssize(kept);
}

}  // namespace predgen
