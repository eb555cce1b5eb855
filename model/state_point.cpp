#include "model/state_point.h"

#include <algorithm>
#include <utility>

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

}  // namespace predgen
