#include "text/tokenize/bpe_merges.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

namespace predgen {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();  // above every rank
constexpr size_t kFew = 24;  // up to this size scanning all pairs beats a queue

}  // namespace

BpeMerges::BpeMerges(size_t count) {
  size_t size = 2;
  while (size < 2 * count) {
    size *= 2;
    --shift_;
  }
  table_.assign(size, Merge{kNoPair, kNever, -1});
}

size_t BpeMerges::find(uint64_t pair) const {
  size_t place = static_cast<size_t>(pair * 0x9E3779B97F4A7C15ull >> shift_);
  while (table_[place].pair != pair && table_[place].pair != kNoPair) {
    place = (place + 1) & (table_.size() - 1);
  }
  return place;
}

void BpeMerges::add(TokenId left, TokenId right, size_t rank, TokenId merged) {
  const uint64_t pair = pair_of(left, right);
  table_[find(pair)] = {pair, static_cast<int32_t>(rank), static_cast<int32_t>(merged)};
}

void BpeMerges::apply(TokenIds& ids) const {
  if (ids.size() <= kFew) {
    apply_to_few(ids);
  } else {
    apply_to_many(ids);
  }
}

void BpeMerges::apply_to_few(TokenIds& ids) const {
  std::array<const Merge*, kFew> merges;  // merges[i]: of ids[i] and ids[i + 1]
  const auto look_up = [&](size_t i) { merges[i] = &table_[find(pair_of(ids[i], ids[i + 1]))]; };
  for (size_t i = 0; i + 1 < ids.size(); ++i) look_up(i);
  while (ids.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < ids.size(); ++i) {
      if (merges[i]->rank < merges[best]->rank) best = i;
    }
    if (merges[best]->rank == kNever) return;
    ids[best] = merges[best]->merged;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + ids.size(), merges.begin() + best);
    if (best > 0) look_up(best - 1);
    if (best + 1 < ids.size()) look_up(best);
  }
}

void BpeMerges::apply_to_many(TokenIds& ids) const {
  // A linked list of symbols; a merge leaves its result on the left one and unlinks the right one.
  struct Symbol {
    TokenId id;
    int32_t rank, merged;    // of the merge with the next symbol; kNever: none
    int64_t previous, next;  // -1: none
  };
  struct Candidate {
    int32_t rank;
    int64_t left;
    bool operator<(const Candidate& other) const {  // the top of the queue is the greatest
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const auto size = static_cast<int64_t>(ids.size());
  std::vector<Symbol> symbols(ids.size());
  const auto at = [&](int64_t index) -> Symbol& { return symbols[static_cast<size_t>(index)]; };
  for (int64_t index = 0; index < size; ++index) {
    at(index) = {ids[static_cast<size_t>(index)], kNever, -1, index - 1,
                 index + 1 < size ? index + 1 : -1};
  }
  std::vector<Candidate> candidates;
  candidates.reserve(ids.size());
  const auto look_up = [&](int64_t left) {
    Symbol& symbol = at(left);
    symbol.rank = kNever;
    if (symbol.next < 0) return false;
    const Merge& merge = table_[find(pair_of(symbol.id, at(symbol.next).id))];
    symbol.rank = merge.rank;
    symbol.merged = merge.merged;
    return merge.rank != kNever;
  };
  for (int64_t index = 0; index < size; ++index) {
    if (look_up(index)) candidates.push_back({at(index).rank, index});
  }
  std::priority_queue<Candidate> queue({}, std::move(candidates));
  const auto update = [&](int64_t left) {
    if (left >= 0 && look_up(left)) queue.push({at(left).rank, left});
  };
  while (!queue.empty()) {
    const auto [rank, left] = queue.top();
    queue.pop();
    Symbol& symbol = at(left);
    if (symbol.rank != rank) continue;  // an earlier merge has changed one of the two
    Symbol& right = at(symbol.next);
    symbol.id = symbol.merged;
    symbol.next = right.next;
    if (right.next >= 0) at(right.next).previous = left;
    right.rank = kNever;
    update(left);
    update(symbol.previous);
  }
  ids.clear();
  for (int64_t index = 0; index >= 0; index = at(index).next) ids.push_back(at(index).id);
}

}  // namespace predgen
