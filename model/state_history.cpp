#include "model/state_history.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/error.h"
#include "model/sequence_state.h"

namespace predgen {

StatePoint::StatePoint(KvPool& pool, int64_t length, std::vector<LayerState> layers)
    : pool_(pool), length_(length), layers_(std::move(layers)) {
  pool_.points_.push_back(this);
}

StatePoint::~StatePoint() { std::erase(pool_.points_, this); }

bool StatePoint::is_in_pass() const {
  return std::ranges::any_of(readers,
                             [](const SequenceState* reader) { return reader->write_end_ > 0; });
}

void StatePoint::swap_out() {
  move_to(at::kCPU);
  is_swapped_out_ = true;
}

void StatePoint::swap_in(const SequenceState* but) {
  if (!is_swapped_out_) return;
  pool_.make_room(pool_.layout().positions_per_snapshot(), but);
  move_to(pool_.layout().options.device());
  is_swapped_out_ = false;
}

void StatePoint::move_to(at::Device device) {
  for (LayerState& layer : layers_) {
    for (at::Tensor& values : layer) values = values.to(device);
  }
}

StateHistory::~StateHistory() {
  cancel();
  forget_after(-1);
}

void StateHistory::reserve(int64_t length) {
  if (pool_.layout().num_states == 0 || num_expected_ > 0) return;
  if (StatePoint* const point = at(length)) point->swap_in(&owner_);
  const KvLayout& layout = pool_.layout();
  const int64_t most = std::max<int64_t>(layout.newest_snapshots(), 2) + layout.spaced_snapshots();
  pool_.make_room(most * layout.positions_per_snapshot(), &owner_);
  pool_.num_expected_ += num_expected_ = most;
}

const LayerState& StateHistory::state(int64_t index, int64_t length) {
  static const LayerState beginning;
  if (length == 0) return beginning;
  StatePoint* const point = at(length);
  PREDGEN_CHECK(point, "no state after {} positions", length);
  point->swap_in(&owner_);
  return point->layer(index);
}

void StateHistory::commit(int64_t length, std::vector<NewStates> found) {
  cancel();  // they are no longer expected, but there
  for (NewStates& states : found) {
    add(std::make_shared<StatePoint>(pool_, length + states.num_new, std::move(states.layers)));
  }
  while (std::ssize(points_) > pool_.layout().max_snapshots) drop(least_useful());
}

void StateHistory::cancel() { pool_.num_expected_ -= std::exchange(num_expected_, 0); }

int64_t StateHistory::return_point(int64_t length) const {
  if (pool_.layout().num_states == 0) return length;
  const auto after = std::ranges::upper_bound(points_, length, {},
                                              [](const auto& point) { return point->length(); });
  return after == points_.begin() ? 0 : (*std::prev(after))->length();
}

void StateHistory::forget_after(int64_t length) {
  while (!points_.empty() && points_.back()->length() > length) drop(points_.size() - 1);
}

bool StateHistory::is_swapped_out(int64_t length) const {
  const StatePoint* const point = at(length);
  return point && point->is_swapped_out();
}

void StateHistory::share(const StateHistory& other) {
  for (const auto& point : other.points_) add(point);
}

StatePoint* StateHistory::at(int64_t length) const {
  const auto is_it = [&](const auto& point) { return point->length() == length; };
  const auto found = std::ranges::find_if(points_, is_it);
  return found == points_.end() ? nullptr : found->get();
}

void StateHistory::add(std::shared_ptr<StatePoint> point) {
  point->readers.push_back(&owner_);
  points_.push_back(std::move(point));
}

void StateHistory::drop(size_t index) {
  std::erase(points_[index]->readers, &owner_);
  points_.erase(points_.begin() + static_cast<int64_t>(index));
}

size_t StateHistory::least_useful() const {
  // Never the newest: where the next rejection returns to.
  const KvLayout& layout = pool_.layout();
  const size_t num_old = points_.size() - 1 - static_cast<size_t>(layout.newest_snapshots());
  const int64_t reach = (1 + layout.spaced_snapshots()) * kSnapshotDistance;
  const auto end = static_cast<double>(points_.back()->length());
  size_t least = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < num_old; ++i) {
    const int64_t before = i == 0 ? 0 : points_[i - 1]->length();
    const auto gap = static_cast<double>(points_[i + 1]->length() - before);
    const double back = end - static_cast<double>(points_[i]->length());
    const bool is_needed = gap > kSnapshotDistance && back <= static_cast<double>(reach);
    const double use = gap / (1 + back) * (is_needed ? 1e6 : 1.0);
    if (use >= smallest) continue;
    smallest = use;
    least = i;
  }
  return least;
}

}  // namespace predgen
