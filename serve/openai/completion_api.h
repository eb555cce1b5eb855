#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/mutex.h"
#include "serve/http/http.h"
#include "serve/openai/completer.h"
#include "serve/openai/completion_request.h"

namespace predgen::serve {

/// One of the answers to a request, whole.
struct CompletionChoice {
  std::string text{}, thought{};
  CompletionResult result{};
  std::optional<std::vector<TokenScore>> scores{};  // of its tokens; nullopt: not wanted
};

/// An answer in the shapes of OpenAI's API, whole or in the chunks of a stream.
class CompletionJson {
 public:
  /// Takes a new id and the current time.
  CompletionJson(bool is_chat, std::string model);

  /// The same for chunks of the `index`th of several answers.
  CompletionJson choice(int64_t index) const;

  Json whole(const std::vector<CompletionChoice>& choices) const;
  /// Of a chat, before any text: who speaks.
  Json role_chunk() const;
  Json thought_chunk(const std::string& thought) const;
  /// `scores`: of its tokens, if the request wants them; nullopt: it does not.
  Json text_chunk(const std::string& text,
                  const std::optional<std::vector<TokenScore>>& scores = {}) const;
  /// A call that is the `index`th of the answer: its name, and its arguments.
  std::array<Json, 2> call_chunks(const ToolCall& call, size_t index) const;
  Json last_chunk(const CompletionResult& result,
                  const std::optional<std::vector<TokenScore>>& scores = {}) const;
  Json usage_chunk(const CompletionUsage& usage) const;

 private:
  Json object(bool is_chunk, Json choices) const;
  Json chunk(Json delta, const Json& finish_reason,
             const std::optional<std::vector<TokenScore>>& scores = {}) const;
  Json logprobs(const std::optional<std::vector<TokenScore>>& scores) const;

  bool is_chat_;
  std::string model_;
  int64_t created_;  // Unix time
  std::string id_;
  int64_t index_ = 0;
};

/// The header of an answer that names parameters of its request which are not known, and ignored.
inline constexpr const char* kIgnoredHeader = "X-Predgen-Ignored";
/// Such names for a header or the log; only what looks like names, and not many.
std::string shown_names(const std::vector<std::string>& names);

/// Sends the answers to requests for completions, whole or as streams. Thread-safe; borrows what
/// the constructor names.
class CompletionApi {
 public:
  /// `model_name`: what clients call the model.
  CompletionApi(Completer& completer, EngineLock& engine_lock, std::string model_name)
      : completer_(completer), engine_lock_(engine_lock), model_name_(std::move(model_name)) {}

  /// ApiError if the request is refused; after the first event of a stream, failures are events.
  /// `client`: as Completer::prepare().
  void serve(const CompletionRequest& request, const std::string& client, HttpReply& reply,
             const std::stop_token& stop);

 private:
  void stream(const CompletionRequest& request, const Completer::Job& job, HttpReply& reply,
              const std::stop_token& stop);
  /// Sends one of the answers, but neither usage nor the end.
  CompletionUsage stream_choice(const CompletionRequest& request, const Completer::Job& job,
                                int64_t choice, const CompletionJson& json, HttpReply& reply,
                                const std::stop_token& stop);
  /// Names parameters that are not known, in a header and, once, in the log.
  void tell_ignored(const std::vector<std::string>& names, HttpReply& reply);

  Completer& completer_;
  EngineLock& engine_lock_;
  const std::string model_name_;
  Mutex mutex_;
  std::set<std::string> noted_ GUARDED_BY(mutex_);  // by tell_ignored()
};

}  // namespace predgen::serve
