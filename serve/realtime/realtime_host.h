#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "hear/recogniser.h"
#include "runtime/converse/session.h"
#include "runtime/engine/engine_lock.h"
#include "serve/own_tools.h"
#include "serve/realtime/realtime_settings.h"
#include "serve/realtime/shared_openings.h"
#include "serve/serve_metrics.h"
#include "text/grammar/grammar_compiler.h"

namespace predgen::serve {

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
