#pragma once

#include <stop_token>
#include <string>

#include "serve/http/http.h"
#include "serve/openai/completer.h"

namespace predgen::serve {

/// POST /v1/responses: chats in the shape of OpenAI's newer API, whole or as a stream of typed
/// events. Nothing is stored. Thread-safe; borrows what the constructor names.
class ResponsesApi {
 public:
  ResponsesApi(Completer& completer, EngineLock& engine_lock, std::string model_name)
      : completer_(completer), engine_lock_(engine_lock), model_name_(std::move(model_name)) {}

  /// ApiError for a request that cannot be answered. `client`: who sends it. A stream that has
  /// begun tells a failure itself.
  void serve(const HttpRequest& request, const std::string& client, HttpReply& reply,
             const std::stop_token& stop);

 private:
  Completer& completer_;
  EngineLock& engine_lock_;
  const std::string model_name_;
};

}  // namespace predgen::serve
