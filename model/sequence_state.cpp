#include "model/sequence_state.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "model/kv_pool.h"
#include "model/state_history.h"

namespace predgen {

namespace {

/// Storage for `needed` positions, `first` or more: doubling keeps copying below one copy per
/// position, as long as there is `room` for it.
int64_t storage_size(int64_t first, int64_t needed, int64_t capacity, int64_t room) {
  int64_t size = first;
  while (size < needed) size *= 2;
  return std::max(needed, std::min({size, capacity, room}));
}

/// A fork copies fewer positions than this instead of sharing a piece: pieces stay few.
constexpr int64_t kLeastShared = 16;

}  // namespace

SequenceState::SequenceState(KvPool& pool, int64_t capacity)
    : pool_(pool), capacity_(capacity), states_(pool, *this) {}

SequenceState::~SequenceState() { replace_pieces(0, nullptr); }

std::pair<at::Tensor, at::Tensor> SequenceState::append(int64_t layer, const at::Tensor& keys_1HTD,
                                                        const at::Tensor& values_1HTD) {
  const int64_t num_new = keys_1HTD.size(2);
  const auto [keys, values] = writable(layer, num_new);
  const auto write = [&](const at::Tensor& layer_1HSD, const at::Tensor& fresh_1HTD) {
    layer_1HSD.narrow(2, length_, num_new).copy_(fresh_1HTD);
    return layer_1HSD.narrow(2, 0, length_ + num_new);
  };
  return {write(keys, keys_1HTD), write(values, values_1HTD)};
}

std::pair<at::Tensor, at::Tensor> SequenceState::appended(int64_t layer) const {
  PREDGEN_CHECK(write_end_ > 0 && pieces_.size() == 1, "rows of layer {} are not there", layer);
  const auto index = static_cast<size_t>(layer);
  return {pieces_.front()->keys.at(index).narrow(2, 0, write_end_),
          pieces_.front()->values.at(index).narrow(2, 0, write_end_)};
}

std::pair<at::Tensor, at::Tensor> SequenceState::writable(int64_t layer, int64_t num_new) {
  reserve(num_new);
  if (pieces_.size() > 1) make_contiguous(write_end_);
  const auto index = static_cast<size_t>(layer);
  return {pieces_.front()->keys.at(index), pieces_.front()->values.at(index)};
}

void SequenceState::pieces(int64_t layer, int64_t num_new, std::vector<Piece>& found) {
  reserve(num_new);
  const auto index = static_cast<size_t>(layer);
  found.clear();
  for (const auto& piece : pieces_) {
    found.push_back({piece->begin(), piece->keys.at(index), piece->values.at(index)});
  }
}

void SequenceState::reserve(int64_t num_new) {
  PREDGEN_CHECK(length_ + num_new <= capacity_,
                "cache holds {} of {} positions, {} more do not fit", length_, capacity_, num_new);
  states_.reserve(length_);  // first: rows take what room there is
  try {
    prepare_write(length_, length_ + num_new);
  } catch (...) {
    if (write_end_ == 0) states_.cancel();
    throw;
  }
  write_end_ = length_ + num_new;
}

bool SequenceState::is_swapped_out() const {
  if (states_.is_swapped_out(length_)) return true;
  return std::ranges::any_of(pieces_, [](const auto& piece) { return piece->is_swapped_out(); });
}

bool SequenceState::reads(const KvStorage& storage) const {
  return std::ranges::find(storage.readers, this) != storage.readers.end();
}

bool SequenceState::reads(const StatePoint& point) const {
  return std::ranges::find(point.readers, this) != point.readers.end();
}

int64_t SequenceState::read_end(const KvStorage& storage) const {
  const auto is_it = [&](const auto& piece) { return piece.get() == &storage; };
  const auto next = std::ranges::find_if(pieces_, is_it) + 1;
  const int64_t end = std::max(length_, write_end_);
  return next == pieces_.end() ? end : std::min(end, (*next)->begin());
}

SequenceState::Kept SequenceState::kept_by_write(int64_t begin) const {
  size_t i = 0;
  while (i + 1 < pieces_.size() && pieces_[i + 1]->begin() <= begin) ++i;
  for (; i < pieces_.size(); ++i) {
    const KvStorage& piece = *pieces_[i];
    const int64_t from = std::max(begin, piece.begin());
    const auto reads_there = [&](const SequenceState* reader) {
      return reader != this && reader->read_end(piece) > from;
    };
    if (std::ranges::any_of(piece.readers, reads_there)) {
      if (from - piece.begin() >= kLeastShared) return {i + 1, from};
      return {i, piece.begin()};
    }
    // What is swapped out holds no more than its readers had.
    if (piece.num_positions() == 0) return {i, piece.begin()};
    if (i + 1 < pieces_.size() && piece.end() < pieces_[i + 1]->begin())
      return {i + 1, piece.end()};
  }
  return {i, pieces_.empty() ? 0 : pieces_.back()->end()};
}

void SequenceState::prepare_write(int64_t begin, int64_t end) {
  for (const auto& piece : pieces_) piece->touch();
  const Kept kept = kept_by_write(begin);
  const bool is_all = kept.count == pieces_.size();
  if (is_all && kept.end >= end && !pieces_.empty() && !is_swapped_out()) return;
  if (pool_.layout().in_pieces && add_piece(kept, end)) return;
  make_contiguous(end);
}

bool SequenceState::add_piece(const Kept& kept, int64_t end) {
  int64_t own = 0, swapped_out = 0;  // positions
  for (size_t i = 0; i < kept.count; ++i) {
    swapped_out += pieces_[i]->num_swapped_out();
    if (pieces_[i]->readers.size() == 1) own += pieces_[i]->num_positions();
  }
  const int64_t needed = std::max<int64_t>(end - kept.end, 0);
  const int64_t room = pool_.num_available(this) - swapped_out;
  if (room < needed) return false;
  for (size_t i = 0; i < kept.count; ++i) {
    const int64_t length = pieces_[i]->num_swapped_out();
    if (length > 0) pieces_[i]->grow(length, length, this);
  }
  if (needed == 0 && kept.count > 0) {
    replace_pieces(kept.count, nullptr);
    return true;
  }
  const int64_t size =
      storage_size(pool_.first_positions(), own + needed, own + capacity_ - kept.end, own + room) -
      own;
  auto fresh = std::make_shared<KvStorage>(pool_, kept.end, size, this);
  copy_to(*fresh, kept.end);
  replace_pieces(kept.count, std::move(fresh));
  return true;
}

void SequenceState::make_contiguous(int64_t end) {
  if (pieces_.size() == 1 && pieces_.front()->readers.size() == 1) {
    KvStorage& own = *pieces_.front();
    const int64_t room = own.capacity() + pool_.num_available(this);
    return own.grow(storage_size(pool_.first_positions(), end, capacity_, room), length_, this);
  }
  // It may swap its sources out.
  const int64_t in_pass = std::exchange(write_end_, 0);
  const int64_t size =
      storage_size(pool_.first_positions(), end, capacity_, pool_.num_available(nullptr));
  auto own = std::make_shared<KvStorage>(pool_, 0, size, nullptr);
  write_end_ = in_pass;
  copy_to(*own, 0);
  replace_pieces(0, std::move(own));
}

void SequenceState::copy_to(KvStorage& to, int64_t begin) const {
  for (const auto& piece : pieces_) {
    const int64_t from = std::max(begin, piece->begin());
    const int64_t until = std::min(length_, read_end(*piece));
    if (from < until) to.copy_from(*piece, from, until);
  }
}

void SequenceState::replace_pieces(size_t count, std::shared_ptr<KvStorage> by) {
  for (size_t i = count; i < pieces_.size(); ++i) std::erase(pieces_[i]->readers, this);
  pieces_.resize(count);
  if (!by) return;
  by->readers.push_back(this);
  pieces_.push_back(std::move(by));
}

std::vector<at::Tensor> SequenceState::parts(std::vector<at::Tensor> KvStorage::*side, size_t layer,
                                             int64_t begin, int64_t end) const {
  std::vector<at::Tensor> found;
  for (const auto& piece : pieces_) {
    const int64_t from = std::max(begin, piece->begin());
    const int64_t until = std::min(end, read_end(*piece));
    if (from >= until) continue;
    found.push_back(((*piece).*side)[layer].narrow(2, from - piece->begin(), until - from));
  }
  return found;
}

void SequenceState::commit(int64_t num_tokens, std::vector<NewStates> states) {
  PREDGEN_CHECK(num_tokens >= 0 && length_ + num_tokens <= write_end_, "commit of {}", num_tokens);
  states_.commit(length_, std::move(states));
  length_ += num_tokens;
  write_end_ = 0;
}

void SequenceState::cancel() {
  write_end_ = 0;
  states_.cancel();
}

int64_t SequenceState::return_to(int64_t length) {
  PREDGEN_CHECK(length >= 0 && length <= length_, "return to {} of {}", length, length_);
  length_ = return_point(length);
  states_.forget_after(length_);
  cancel();
  return length_;
}

void SequenceState::keep(int64_t begin, std::span<const int64_t> kept) {
  const auto count = static_cast<int64_t>(kept.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = kept[static_cast<size_t>(i)];
    PREDGEN_CHECK(place >= 0 && begin + place < length_ &&
                      (i == 0 || place > kept[static_cast<size_t>(i - 1)]),
                  "position {} cannot be kept after position {} of {}", place, begin, length_);
  }
  if (pool_.layout().num_states > 0) {
    return_to(begin);
  } else {
    move_path(begin, kept);
    return_to(begin + count);
  }
}

void SequenceState::move_path(int64_t begin, std::span<const int64_t> kept) {
  const auto count = static_cast<int64_t>(kept.size());
  // Positions already in place need not move.
  int64_t fixed = 0;
  while (fixed < count && kept[static_cast<size_t>(fixed)] == fixed) ++fixed;
  if (const int64_t moved = count - fixed; moved > 0) {
    const int64_t to = begin + fixed;
    prepare_write(to, length_);
    std::vector<int64_t> rows(kept.begin() + fixed, kept.end());
    for (int64_t& row : rows) row -= fixed;
    if (pieces_.size() == 1 && pieces_.front()->move_rows(to, rows)) return;
    const at::Tensor from = at::tensor(rows, at::kLong).to(pool_.layout().options.device());
    for (size_t layer = 0; layer < static_cast<size_t>(pool_.layout().num_layers); ++layer) {
      for (const auto side : {&KvStorage::keys, &KvStorage::values}) {
        const std::vector<at::Tensor> all = parts(side, layer, to, length_);
        const at::Tensor path =
            (all.size() == 1 ? all.front() : at::cat(all, 2)).index_select(2, from);
        int64_t done = 0;
        for (const at::Tensor& part : parts(side, layer, to, to + moved)) {
          part.copy_(path.narrow(2, done, part.size(2)));
          done += part.size(2);
        }
      }
    }
  }
}

std::unique_ptr<SequenceState> SequenceState::fork() const {
  std::unique_ptr<SequenceState> copy = pool_.make_state(capacity_);
  copy->length_ = length_;
  for (const auto& piece : pieces_) {
    if (piece->begin() >= length_) break;
    piece->readers.push_back(copy.get());
    copy->pieces_.push_back(piece);
  }
  copy->states_.share(states_);
  return copy;
}

}  // namespace predgen
