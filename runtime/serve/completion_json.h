#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "runtime/serve/completer.h"

namespace predgen {

/// An answer in the shapes of OpenAI's API, whole or in the chunks of a stream.
class CompletionJson {
 public:
  /// Has a new id, and the present time.
  CompletionJson(bool is_chat, std::string model);

  Json whole(const std::string& text, const CompletionResult& result) const;
  /// Of a chat, before any text: who speaks.
  Json role_chunk() const;
  Json text_chunk(const std::string& text) const;
  Json last_chunk(const CompletionResult& result) const;
  Json usage_chunk(const CompletionResult& result) const;

 private:
  Json object(bool is_chunk, Json choices) const;
  Json chunk(Json delta, const Json& finish_reason) const;

  const bool is_chat_;
  const std::string model_;
  const int64_t created_;  // Unix time
  const std::string id_;
};

}  // namespace predgen
