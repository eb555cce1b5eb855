#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/generate/generator.h"
#include "text/token_ids.h"

namespace predgen {

/// Says what may come next for less than a pass of the model costs, for DraftingGenerator to have
/// the model check.
class DraftSource {
 public:
  virtual ~DraftSource() = default;

  /// Ways on after `tokens`, the best one first, each of 1 to `max_tokens` tokens; none if it has
  /// no idea. `drafts`: earlier answers, the newest first. `config`: of what is generated. Nothing
  /// at all if its should_stop has ended the search.
  virtual std::optional<std::vector<TokenIds>> propose(TokenSpan tokens,
                                                       std::span<const TokenIds> drafts,
                                                       const GenerationConfig& config,
                                                       int64_t max_tokens) = 0;
};

}  // namespace predgen
