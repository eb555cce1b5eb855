#include "runtime/engine/sequence.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

TokenSpan Sequence::pending() const {
  PREDGEN_CHECK(num_cached() <= size(), "a draft is cached: append() or truncate() first");
  return tokens().subspan(static_cast<size_t>(num_cached()));
}

void Sequence::append(TokenSpan tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  truncate(size());
}

void Sequence::truncate(int64_t new_size) {
  PREDGEN_CHECK(new_size >= 0 && new_size <= size(), "truncate to {} of {}", new_size, size());
  tokens_.resize(static_cast<size_t>(new_size));
  const int64_t last = std::max<int64_t>(new_size - 1, 0);
  state_->return_to(std::min(num_cached(), last));
  hidden_.truncate(last);
}

void Sequence::keep_path(std::span<const int64_t> path) {
  state_->keep(size(), path);
  hidden_.keep(size(), path);
}

int64_t Sequence::replace(TokenSpan tokens) {
  state_->return_to(num_kept_by(tokens));
  num_settled_ = num_common_with(tokens);
  hidden_.truncate(std::min(num_settled_, std::max<int64_t>(std::ssize(tokens) - 1, 0)));
  tokens_.assign(tokens.begin(), tokens.end());
  return num_cached();
}

KvRows Sequence::rows(int64_t length) {
  const KvLayout& layout = state_->layout();
  PREDGEN_CHECK(layout.num_states == 0 && length > 0 && length <= num_cached() && length < size(),
                "rows of {} tokens of {}", length, num_cached());
  KvRows all;
  for (int64_t layer = 0; layer < layout.num_layers; ++layer) {
    const auto [keys, values] = parts(layer, length);
    all.emplace_back(at::cat(keys, 2).cpu(), at::cat(values, 2).cpu());
  }
  state_->cancel();
  return all;
}

std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>> Sequence::parts(int64_t layer,
                                                                            int64_t length) {
  std::vector<SequenceState::Piece> pieces;
  state_->pieces(layer, 0, pieces);
  std::vector<at::Tensor> keys, values;
  for (size_t i = 0; i < pieces.size() && pieces[i].begin < length; ++i) {
    const int64_t next = i + 1 < pieces.size() ? pieces[i + 1].begin : length;
    const int64_t count = std::min(next, length) - pieces[i].begin;
    keys.push_back(pieces[i].keys.narrow(2, 0, count));
    values.push_back(pieces[i].values.narrow(2, 0, count));
  }
  return {std::move(keys), std::move(values)};
}

RowsOfAnother Sequence::rows_for_another(std::span<const int64_t> layers, int64_t length) {
  RowsOfAnother rows;
  PREDGEN_CHECK(layers.size() == rows.size() && length > 0 && length <= num_cached(),
                "{} layers of {} tokens of {}", layers.size(), length, num_cached());
  const auto joined = [](const std::vector<at::Tensor>& some) {
    return some.size() == 1 ? some.front() : at::cat(some, 2);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [keys, values] = parts(layers[i], length);
    rows.at(i) = {joined(keys), joined(values)};
  }
  state_->cancel();
  return rows;
}

void Sequence::load(TokenSpan tokens, const KvRows& rows) {
  const KvLayout& layout = state_->layout();
  const int64_t length = rows.empty() ? 0 : rows.front().first.size(2);
  PREDGEN_CHECK(size() == 0 && length < std::ssize(tokens) && layout.num_states == 0 &&
                    std::ssize(rows) == layout.num_layers,
                "{} layers of {} tokens cannot be loaded", rows.size(), length);
  for (int64_t layer = 0; layer < layout.num_layers; ++layer) {
    const auto& [keys, values] = rows[static_cast<size_t>(layer)];
    const auto [num_heads, head_dim] = layout.heads(layer);
    for (const at::Tensor& side : {keys, values}) {
      PREDGEN_CHECK(side.sizes() == at::IntArrayRef({1, num_heads, length, head_dim}) &&
                        side.scalar_type() == layout.options.dtype().toScalarType(),
                    "rows of layer {} have another shape or type", layer);
    }
    state_->append(layer, keys, values);
  }
  state_->commit(length);
  tokens_.assign(tokens.begin(), tokens.end());
  truncate(size());
}

int64_t Sequence::num_common_with(TokenSpan tokens) const {
  return std::ranges::mismatch(tokens_, tokens).in2 - tokens.begin();
}

int64_t Sequence::num_kept_by(TokenSpan tokens) const {
  return state_->return_point(std::min(
      {num_cached(), num_common_with(tokens), std::max<int64_t>(std::ssize(tokens) - 1, 0)}));
}

Sequence Sequence::fork() const {
  Sequence copy(state_->fork());
  copy.tokens_ = tokens_;
  copy.hidden_ = hidden_;
  copy.num_settled_ = num_settled_;
  copy.truncate(size());
  return copy;
}

}  // namespace predgen
