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
  const TokenTree& tree;   // what it already checks: duplicates take no room
  int64_t max_tokens = 0;  // including the tree's

  int64_t left() const { return max_tokens - tree.size(); }
};

/// Proposes what may come next, for less than a pass of the model costs; DraftingGenerator has the
/// model check it.
class DraftSource {
 public:
  virtual ~DraftSource() = default;

  /// Continuations of `tokens`, best first, none empty, each with at most `room.left()` tokens that
  /// are not in the room's tree; an empty list if it has none. `drafts`: earlier answers, newest
  /// first. `config`: of the generation. nullopt if its should_stop ended the search.
  virtual std::optional<std::vector<TokenIds>> propose(TokenSpan tokens,
                                                       std::span<const TokenIds> drafts,
                                                       const GenerationConfig& config,
                                                       const DraftRoom& room) = 0;

  /// Prepares for `tokens`, which the next ones most likely begin with.
  virtual void prefill(TokenSpan tokens) = 0;
};

}  // namespace predgen
