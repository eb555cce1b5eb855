#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"
#include "runtime/generate/generator.h"

namespace predgen {

/// Decoding in which every pass also checks what its sources expect to come next, several ways on
/// as a tree. With mask tokens, of an adapter that counts for them alone, the pass makes a guess at
/// what comes next, too (MaskedDraft).
class DraftingGenerator : public Generator {
 public:
  /// The nearest one's first. They count for the width as guesses do, and come before what sources
  /// expect; where they do not pay, a pass is as without them.
  struct Masks {
    TokenIds tokens;
    DraftWidth width;
  };

  /// Borrows the engine. `refines`: a guess that was wrong is tried once more as the pass has
  /// corrected it, before the sources; good ones know better.
  DraftingGenerator(Engine& engine, std::vector<std::unique_ptr<DraftSource>> sources,
                    DraftWidth width, bool refines = true, std::optional<Masks> masks = {});

  GenerationResult generate(Sequence& sequence, const Guess& guess, const GenerationConfig& config,
                            const TokenCallback& on_tokens) override;
  void prefill(TokenSpan tokens) override;

 private:
  Engine& engine_;
  std::vector<std::unique_ptr<DraftSource>> sources_;
  DraftWidth width_;
  const bool refines_;
  std::optional<Masks> masks_;
};

}  // namespace predgen
