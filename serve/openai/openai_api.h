#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http.h"
#include "serve/openai/completer.h"
#include "serve/openai/completion_api.h"
#include "serve/openai/responses_api.h"
#include "serve/openai/speech_api.h"
#include "serve/openai/transcription_api.h"
#include "serve/realtime/realtime_api.h"
#include "serve/serve_config.h"
#include "serve/serve_metrics.h"

namespace predgen::serve {

/// Who may send requests. Only hashes of the keys are known, and comparison time does not depend on
/// what is compared. Immutable.
class ApiKeys {
 public:
  /// SHA-256 in hexadecimal digits; empty: everybody may.
  explicit ApiKeys(std::vector<std::string> sha256) : sha256_(std::move(sha256)) {}

  bool are_needed() const { return !sha256_.empty(); }
  /// `authorization`: the header's value, "Bearer KEY". Returns the key's hash; empty: no key is
  /// needed. ApiError 401 without a valid key.
  std::string check(std::string_view authorization) const;

 private:
  std::vector<std::string> sha256_;
};

/// Who may ask: by their key, by the name that they use for this machine, and for web pages by
/// their origin. Immutable.
class Access {
 public:
  /// Of the configuration: api_keys_sha256, allowed_hosts and allowed_origins.
  explicit Access(const ServeConfig& config);

  /// Returns the client: the key's hash or, if no key is needed, the address. `is_public`: what is
  /// asked for needs no key. ApiError 401 or 403.
  std::string check(const HttpRequest& request, bool is_public) const;
  /// The part of check() that a browser asks about beforehand, without the key. ApiError 403.
  void check_place(const HttpRequest& request) const;
  /// Whether pages of this origin, which are served elsewhere, may ask and read the answers.
  bool is_allowed_origin(const std::string& origin) const;

 private:
  const ApiKeys keys_;
  const std::vector<std::string> hosts_, origins_;
};

/// The endpoints: chat completions, completions, responses, speech, transcriptions, models and
/// realtime conversations as OpenAI has them, health and metrics.
/// Thread-safe; borrows what the constructor names.
class OpenAiApi {
 public:
  OpenAiApi(Completer& completer, EngineLock& engine_lock, ServeMetrics& metrics,
            RealtimeApi& realtime, std::string model_name, Access access);

  /// An HttpHandler.
  void handle(const HttpRequest& request, HttpReply& reply, const std::stop_token& stop);
  /// A BeginUpload.
  std::shared_ptr<const void> begin_upload(const HttpRequest& head);

 private:
  /// The path that a request belongs to, or "other".
  std::string endpoint(const std::string& path) const;
  /// Access::check(), for a plain path.
  std::string check_access(const HttpRequest& request, const std::string& path) const;
  /// Returns the answer's status. `path`: the request's, plain.
  int answer(const HttpRequest& request, const std::string& path, HttpReply& reply,
             const std::stop_token& stop);
  /// What a browser may do at an endpoint.
  HttpAnswer options(const HttpRequest& request, const std::string& to) const;
  HttpAnswer metrics() const;
  /// The list of models, or the one that the path names. ApiError for another.
  Json models(const std::string& path) const;

  Completer& completer_;
  EngineLock& engine_lock_;
  ServeMetrics& metrics_;
  RealtimeApi& realtime_;
  CompletionApi completions_;
  SpeechApi speech_;
  TranscriptionApi transcriptions_;
  ResponsesApi responses_;
  const std::string model_name_;
  const int64_t created_;  // Unix time
  const Access access_;
};

}  // namespace predgen::serve
