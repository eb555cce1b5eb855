#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "serve/http/http.h"
#include "serve/openai/completer.h"
#include "serve/openai/completion_json.h"
#include "serve/openai/completion_request.h"

namespace predgen::serve {

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
