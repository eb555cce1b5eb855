#pragma once

#include <cstdint>
#include <list>

#include "runtime/engine/engine.h"

namespace predgen {

/// The sequences of answers that are over, for prompts that go on from them: the next call of a
/// conversation finds what was said before in a cache. Used with the engine's baton.
class KeptSequences {
 public:
  /// `capacity`: of each, in tokens. `max_kept`: the one that was not used for longest goes first.
  /// Borrows the engine.
  KeptSequences(Engine& engine, int64_t capacity, int64_t max_kept)
      : engine_(engine), capacity_(capacity), max_kept_(max_kept) {}

  /// Has the prompt's tokens, as many of them cached as any kept sequence shares with it.
  Sequence take(TokenSpan prompt);
  void keep(Sequence sequence);

 private:
  Engine& engine_;
  const int64_t capacity_, max_kept_;
  std::list<Sequence> kept_;  // the newest first
};

}  // namespace predgen
