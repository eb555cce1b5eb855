#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/clock.h"
#include "hear/recogniser.h"
#include "runtime/converse/session.h"
#include "runtime/engine/engine_lock.h"
#include "serve/prefix_cache.h"
#include "serve/realtime/realtime_settings.h"
#include "serve/serve_config.h"
#include "serve/serve_metrics.h"
#include "text/grammar/grammar_compiler.h"

namespace predgen::serve {

/// What conversations' prompts begin with, system prompt and tools: one of them reads it before
/// anything is said, and the others of its key, also after a restart, find it read. Used with the
/// engine's lock; borrows both.
class SharedOpenings {
 public:
  SharedOpenings(Engine& engine, PrefixCache& cache) : engine_(engine), cache_(cache) {}

  /// Between turns. The session goes on from as much of its `opening` as any conversation of this
  /// key has read, or what is stored; the others get what it has. While `may_read` says so, asked
  /// by any thread between passes, the rest is read, unless another conversation is doing that. It
  /// gives way like a draft.
  void prepare(Session& session, const std::string& key, const TokenIds& opening,
               const std::function<bool()>& may_read);

 private:
  /// As much as there is, or is read.
  Sequence read(const std::string& key, const TokenIds& opening,
                const std::function<bool()>& may_read);
  /// Others have it from now on, if it is more than they had.
  void share(const std::string& key, const TokenIds& opening, const Sequence& sequence);

  Engine& engine_;
  PrefixCache& cache_;
  std::set<std::pair<std::string, TokenIds>> being_read_;
};

/// What all realtime conversations of a server have in common; borrowed.
struct RealtimeHost {
  Engine& engine;
  EngineLock& engine_lock;  // the engine's
  const Tokenizer& tokenizer;
  Clock& clock;
  ServeMetrics& metrics;
  SessionConfig session{};  // of a conversation whose client asks for nothing else
  RealtimeOffer offer{};
  MakeRecogniser make_recogniser{};    // empty: sound is not understood
  const OwnTools* tools = nullptr;     // of the server; null: none
  SharedOpenings* openings = nullptr;  // null: each conversation reads its prompts by itself
  /// Of the tokenizer, for calls of functions.
  std::shared_ptr<GrammarCompiler> grammars = std::make_shared<GrammarCompiler>(tokenizer);
};

}  // namespace predgen::serve
