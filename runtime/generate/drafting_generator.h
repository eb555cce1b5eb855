#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/generate/draft_source.h"
#include "runtime/generate/draft_width.h"
#include "runtime/generate/generator.h"

namespace predgen {

/// Decoding in which every pass also checks what its sources expect to come next, several
/// continuations as a tree. With mask tokens, whose adapter applies to them alone, the pass also
/// guesses what comes next (MaskedDraft).
class DraftingGenerator : public Generator {
 public:
  /// Nearest first. They count towards the width as guesses do, and come before what sources
  /// expect; a pass omits them where they do not pay.
  struct Masks {
    TokenIds tokens;
    DraftWidth width;
  };

  /// Borrows the engine. `refines`: a wrong guess is tried again as the pass has corrected it,
  /// before the sources; good sources know better.
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
