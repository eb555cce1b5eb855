#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "core/json.h"
#include "serve/api_error.h"
#include "serve/http/http.h"
#include "serve/openai/completer.h"

namespace predgen::serve {

/// An answer as the Responses API has it: an object with items, which grows, and the events that
/// tell a client how. Used by one thread.
class ResponseObject {
 public:
  /// Gets each event, with its type, which is in it, too; empty: nobody wants them.
  using Emit = std::function<void(const std::string& type, const Json& event)>;
  /// `asked`: the request's fields. Takes a new id and the current time.
  ResponseObject(const Json& asked, const std::string& model, Emit emit);

  void begin();
  void add_text(const std::string& text);
  void add_call(const ToolCall& call);
  void finish(const CompletionResult& result);
  /// The last event of an answer that has begun.
  void fail(const ApiError& error);

  const Json& json() const { return response_; }

 private:
  /// An event about the item under way, which is the last one.
  Json item_event(const char* type) const;
  Json part_event(const char* type) const;
  void emit(Json event);
  void emit_whole(const char* type);
  void begin_item(Json item);
  void end_item(const char* status);
  void begin_message();
  void end_message(const char* status);

  const Emit emit_;
  Json response_;
  std::optional<std::string> text_{};  // of the message under way; nullopt: there is none
  int64_t sequence_number_ = 0;
};

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
