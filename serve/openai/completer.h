#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/make_generator.h"
#include "serve/openai/completion_request.h"
#include "serve/openai/token_scorer.h"
#include "serve/prefix_cache.h"
#include "serve/serve_config.h"
#include "serve/serve_metrics.h"
#include "serve/slots.h"
#include "text/grammar/grammar_compiler.h"
#include "text/thoughts.h"
#include "text/tokenizer.h"

namespace predgen::serve {

class ServerTools;

struct CompletionUsage {
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  /// Guessed tokens that passes checked beside the answer's next token: those kept, and the others.
  int64_t accepted_tokens = 0, rejected_tokens = 0;
  int64_t thought_tokens = 0;  // of the completion's

  /// Adds what another answer to the same prompt took.
  void add(const CompletionUsage& other) {
    completion_tokens += other.completion_tokens;
    accepted_tokens += other.accepted_tokens;
    rejected_tokens += other.rejected_tokens;
    thought_tokens += other.thought_tokens;
  }
};

struct CompletionResult {
  bool is_cut = false;            // by the limit on its tokens, or because it repeated itself
  std::vector<ToolCall> calls{};  // each with an id
  CompletionUsage usage{};
};

/// Answers requests, those of several threads in common passes. A conversation's next request finds
/// its prefix shared with earlier ones cached. Thread-safe; borrows what the constructor names.
class Completer {
 public:
  /// `engine` and `tokenizer` are of one model, `defaults` are those in its folder. `decoder`: how
  /// every answer is decoded. `store`: of prompts' beginnings; null: none.
  Completer(Engine& engine, EngineLock& engine_lock, const Tokenizer& tokenizer,
            const GenerationDefaults& defaults, const ServeConfig& config, ServeMetrics& metrics,
            const Clock& clock, GeneratorConfig decoder = {}, PrefixStore* store = nullptr);

  /// A request to be answered; counts as a session while it lives.
  class Job {
    friend class Completer;
    std::string client_;
    std::shared_ptr<const void> session_;
    Seconds begin_{0};
    TokenIds prompt_;
    int64_t num_static_ = 0;  // of its first tokens: PrefixCache::keep()
    std::vector<TokenIds> predictions_;
    std::vector<std::string> stop_;
    GenerationConfig generation_;
    std::optional<SamplingConfig> sampling_;
    AnswerStart start_ = AnswerStart::kText;
    bool shows_thoughts_ = true;
    ToolSet tools_;
    std::shared_ptr<const Grammar> grammar_;  // of the answer; null: any text
    bool has_many_calls_ = true;
    std::optional<int64_t> logprobs_;
    CompletionRequest request_;  // with the server's tools
    bool has_own_ = false;       // there are such
  };
  /// Before the first request: answers call these tools (borrowed).
  void set_tools(const ServerTools& tools) { tools_ = &tools; }

  /// ApiError for a prompt that is too long or no conversation, for sampling that is out of range,
  /// for tools that the model's template does not have, for a form of answers or of calls that
  /// cannot be compiled, which happens here, and when the session limit is reached, of
  /// this client or of all. `client`: who sends it, for the engine lock and for the prefix cache.
  /// Runs without the engine lock.
  Job prepare(const CompletionRequest& request, const std::string& client);

  struct Sink {
    /// More of the answer, in the calling thread, which holds the engine lock: others wait for it.
    std::function<void(const std::string& text)> on_text;
    /// More of what the model thinks before it answers, likewise.
    std::function<void(const std::string& thought)> on_thought;
    /// A call of a function, whole, in the calling thread, which holds the engine lock.
    std::function<void(const ToolCall& call)> on_call;
    /// The next tokens, if a request wants to know how likely they are: before their text.
    std::function<void(std::vector<TokenScore> scores)> on_scores;
    /// Whether the answer is still wanted. Called by any thread; keeps the engine lock.
    std::function<bool()> is_wanted;
  };
  /// Waits for the engine lock. Ends early when the answer is not wanted; Interrupted if stopped.
  /// `choice`: each answer to a job has draws of its own.
  CompletionResult complete(const Job& job, int64_t choice, const Sink& sink,
                            const std::stop_token& stop);

  /// What its answers leave for the next ones. With the engine lock.
  PrefixCache& prefixes() { return prefix_cache_; }
  int64_t num_sessions() const { return sessions_.num_taken(); }
  /// Tokens that prompt and answer may have together.
  int64_t context_length() const { return context_length_; }

 private:
  /// All of a job that depends on the request.
  void fill(Job& job, const CompletionRequest& request);
  /// complete() of one request.
  CompletionResult complete_once(const Job& job, int64_t choice, const Sink& sink,
                                 const std::stop_token& stop);
  std::shared_ptr<const void> enter(const std::string& client);
  void check_tools(const CompletionRequest& request) const;
  /// What the answer must be, by its form and its tools; null: any text.
  std::shared_ptr<const Grammar> grammar(const CompletionRequest& request, AnswerStart start);
  TokenIds prompt_ids(const CompletionRequest& request) const;
  /// How many first tokens of the prompt come from what a conversation begins with.
  int64_t num_static(const CompletionRequest& request, TokenSpan prompt) const;
  std::optional<SamplingConfig> sampling(const CompletionRequest& request) const;
  /// Drafts as in Guess: one, or none.
  std::vector<TokenIds> prediction_ids(const CompletionRequest& request) const;
  /// How many tokens the answer to a prompt of `length` may have.
  int64_t room(const CompletionRequest& request, int64_t length) const;

  Engine& engine_;
  EngineLock& engine_lock_;
  const Tokenizer& tokenizer_;
  const GenerationDefaults& defaults_;
  const ServeConfig& config_;
  ServeMetrics& metrics_;
  const Clock& clock_;
  const int64_t context_length_;
  const GeneratorConfig decoder_;
  GrammarCompiler grammars_;
  Slots sessions_;
  const bool stores_prefixes_;
  PrefixCache prefix_cache_;  // with the engine lock
  const ServerTools* tools_ = nullptr;
};

}  // namespace predgen::serve
