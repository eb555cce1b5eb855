#include "model/parts/recurrent_part.h"

#include "core/error.h"

namespace predgen {
namespace {

/// Reads a sequence's new tokens [T,W]; fills in the states at its points.
at::Tensor advance_sequence(const RecurrentPart& part, const at::Tensor& tokens_TW, int64_t place,
                            CachedRows& rows) {
  const bool is_tree = !rows.parents.empty();
  LayerState state = rows.state->state(place);
  std::vector<at::Tensor> found;
  int64_t begin = 0;
  const auto advance_to = [&](int64_t end) {
    if (end > begin) found.push_back(part.advance(tokens_TW.narrow(0, begin, end - begin), state));
    begin = end;
  };
  for (NewStates& point : rows.points) {
    advance_to(point.num_new);
    point.layers[static_cast<size_t>(place)] = state;
  }
  if (!is_tree) advance_to(rows.num_new);
  // Each token of a tree goes on from the state of the one before it.
  const int64_t first = begin;
  std::vector<LayerState> states;
  for (; begin < rows.num_new; ++begin) {
    const int64_t parent = rows.parents[static_cast<size_t>(begin)];
    PREDGEN_CHECK(parent >= first - 1, "a tree that begins at {} before {}", parent, first);
    states.push_back(parent < first ? state : states[static_cast<size_t>(parent - first)]);
    found.push_back(part.advance(tokens_TW.narrow(0, begin, 1), states.back()));
  }
  return found.size() == 1 ? found.front() : at::cat(found);
}

}  // namespace

at::Tensor RecurrentPart::operator()(const at::Tensor& input_BTE,
                                     const at::Tensor& gate_BT1) const {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& tokens_TW : read(input_BTE, gate_BT1).unbind()) {
    LayerState state;
    rows.push_back(advance(tokens_TW, state));
  }
  return write(at::stack(rows), gate_BT1);
}

at::Tensor RecurrentPart::operator()(const at::Tensor& input_1TE, int64_t place,
                                     std::span<CachedRows> sequences,
                                     const at::Tensor& gate_1T1) const {
  const at::Tensor tokens_TW = read(input_1TE, gate_1T1).squeeze(0);
  std::vector<at::Tensor> found;
  int64_t begin = 0;
  for (CachedRows& rows : sequences) {
    found.push_back(advance_sequence(*this, tokens_TW.narrow(0, begin, rows.num_new), place, rows));
    begin += rows.num_new;
  }
  return write(at::cat(found).unsqueeze(0), gate_1T1);
}

}  // namespace predgen
