#pragma once

#include <cstdint>
#include <string>

#include "serve/api_keys.h"
#include "serve/http/http.h"
#include "serve/openai/completer.h"
#include "serve/openai/speech_api.h"
#include "serve/realtime/realtime_api.h"
#include "serve/serve_metrics.h"

namespace predgen::serve {

/// The endpoints: chat completions, completions, models and realtime conversations as OpenAI has
/// them, health and metrics.
/// Thread-safe; borrows what the constructor names.
class OpenAiApi {
 public:
  OpenAiApi(Completer& completer, Baton& baton, ServeMetrics& metrics, RealtimeApi& realtime,
            std::string model_name, ApiKeys keys);

  /// An HttpHandler.
  void handle(const HttpRequest& request, HttpReply& reply, const std::stop_token& stop);

 private:
  /// The path that a request belongs to, or "other".
  std::string endpoint(const std::string& path) const;
  /// Returns the client: the key's hash or, if no key is needed, the address.
  std::string check_access(const HttpRequest& request) const;
  /// Returns the answer's status.
  int answer(const HttpRequest& request, HttpReply& reply, const std::stop_token& stop);
  void complete(const CompletionRequest& request, const std::string& client, HttpReply& reply,
                const std::stop_token& stop);
  void stream(const CompletionRequest& request, const Completer::Job& job, HttpReply& reply,
              const std::stop_token& stop);
  HttpAnswer metrics() const;
  Json model() const;

  Completer& completer_;
  Baton& baton_;
  ServeMetrics& metrics_;
  RealtimeApi& realtime_;
  SpeechApi speech_;
  const std::string model_name_;
  const int64_t created_;  // Unix time
  const ApiKeys keys_;
};

}  // namespace predgen::serve
