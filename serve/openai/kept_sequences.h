#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "runtime/engine/engine.h"

namespace predgen::serve {

/// The sequences of answers that are over, for prompts that go on from them: the next call of a
/// conversation finds what was said before in a cache. A client's prompts find its own only, for
/// what is cached tells what was said. Used with the engine's baton.
class KeptSequences {
 public:
  /// `capacity`: of each, in tokens. `max_kept`: the one that was not used for longest goes first.
  /// Borrows the engine.
  KeptSequences(Engine& engine, int64_t capacity, int64_t max_kept)
      : engine_(engine), capacity_(capacity), max_kept_(max_kept) {}

  /// Has the prompt's tokens, as many of them cached as any of the client's kept sequences shares
  /// with it.
  Sequence take(const std::string& client, TokenSpan prompt);
  void keep(const std::string& client, Sequence sequence);
  /// Gives back what they hold. False: they hold nothing.
  bool drop_all();

 private:
  Engine& engine_;
  const int64_t capacity_, max_kept_;
  struct Kept {
    std::string client;
    Sequence sequence;
  };
  std::list<Kept> kept_;  // the newest first
};

}  // namespace predgen::serve
