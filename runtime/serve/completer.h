#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/generator.h"
#include "runtime/serve/completion_request.h"
#include "runtime/serve/kept_sequences.h"
#include "runtime/serve/serve_config.h"
#include "runtime/serve/serve_metrics.h"
#include "text/tokenizer.h"

namespace predgen {

struct CompletionUsage {
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
};

struct CompletionResult {
  bool is_cut = false;  // by the limit on its tokens
  CompletionUsage usage{};
};

/// Answers requests, those of several threads in common passes. A conversation's next request finds
/// what it shares with earlier ones in a cache. Thread-safe; borrows what the constructor names.
class Completer {
 public:
  /// `engine` and `tokenizer` are of one model, `defaults` is what its folder says.
  Completer(Engine& engine, Baton& baton, const Tokenizer& tokenizer,
            const GenerationDefaults& defaults, const ServeConfig& config, ServeMetrics& metrics,
            const Clock& clock);

  /// A request that is going to be answered; counts as a session as long as it lives.
  class Job {
    friend class Completer;
    struct Leave {
      void operator()(Completer* completer) const { --completer->num_sessions_; }
    };
    std::unique_ptr<Completer, Leave> session_;
    Seconds begin_{0};
    TokenIds prompt_;
    std::vector<std::string> stop_;
    GenerationConfig generation_;
  };
  /// ApiError for a prompt that is too long or no conversation, for sampling that is out of range,
  /// and when there are as many sessions as may be. Runs without the baton.
  Job prepare(const CompletionRequest& request);

  struct Sink {
    /// More of the answer, in the calling thread, which holds the baton.
    std::function<void(const std::string& text)> on_text;
    /// Whether anybody waits for it. Called by any thread; keeps the baton.
    std::function<bool()> is_wanted;
  };
  /// Waits for the baton. Ends early when the answer is not wanted; Interrupted if stopped.
  CompletionResult complete(const Job& job, const Sink& sink, const std::stop_token& stop);

  int64_t num_sessions() const { return num_sessions_; }
  /// Tokens that prompt and answer may have together.
  int64_t context_length() const { return context_length_; }

 private:
  std::unique_ptr<Completer, Job::Leave> enter();
  TokenIds prompt_ids(const CompletionRequest& request) const;
  /// How many tokens the answer to a prompt of `length` may have.
  int64_t room(const CompletionRequest& request, int64_t length) const;

  Engine& engine_;
  Baton& baton_;
  const Tokenizer& tokenizer_;
  const GenerationDefaults& defaults_;
  const ServeConfig& config_;
  ServeMetrics& metrics_;
  const Clock& clock_;
  const int64_t context_length_;
  std::atomic<int64_t> num_sessions_ = 0;
  KeptSequences kept_;  // with the baton
};

}  // namespace predgen
