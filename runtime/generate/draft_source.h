#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/generate/generator.h"
#include "runtime/generate/token_tree.h"
#include "text/token_ids.h"

namespace predgen {

/// What a pass has room for.
struct DraftRoom {
  const TokenTree& tree;   // what it checks already: the same once more takes no room
  int64_t max_tokens = 0;  // with those of the tree

  int64_t left() const { return max_tokens - tree.size(); }
};

/// Says what may come next for less than a pass of the model costs, for DraftingGenerator to have
/// the model check.
class DraftSource {
 public:
  virtual ~DraftSource() = default;

  /// Ways on after `tokens`, the best one first, none empty, each with at most `room.left()` tokens
  /// that are not in the room's tree; none if it has no idea. `drafts`: earlier answers, the newest
  /// first. `config`: of what is generated. Nothing at all if its should_stop has ended the search.
  virtual std::optional<std::vector<TokenIds>> propose(TokenSpan tokens,
                                                       std::span<const TokenIds> drafts,
                                                       const GenerationConfig& config,
                                                       const DraftRoom& room) = 0;

  /// Makes ready for `tokens`, which the next ones most likely begin with.
  virtual void prefill(TokenSpan tokens) = 0;
};

}  // namespace predgen
