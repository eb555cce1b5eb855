#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "serve/openai/completer.h"

namespace predgen::serve {

/// An answer in the shapes of OpenAI's API, whole or in the chunks of a stream.
class CompletionJson {
 public:
  /// Takes a new id and the current time.
  CompletionJson(bool is_chat, std::string model);

  /// `scores`: of its tokens, if the request wants them; nullopt: it does not.
  Json whole(const std::string& text, const CompletionResult& result,
             const std::optional<std::vector<TokenScore>>& scores = {}) const;
  /// Of a chat, before any text: who speaks.
  Json role_chunk() const;
  Json text_chunk(const std::string& text,
                  const std::optional<std::vector<TokenScore>>& scores = {}) const;
  /// A call that is the `index`th of the answer: its name, and its arguments.
  std::array<Json, 2> call_chunks(const ToolCall& call, size_t index) const;
  Json last_chunk(const CompletionResult& result,
                  const std::optional<std::vector<TokenScore>>& scores = {}) const;
  Json usage_chunk(const CompletionResult& result) const;

 private:
  Json object(bool is_chunk, Json choices) const;
  Json chunk(Json delta, const Json& finish_reason,
             const std::optional<std::vector<TokenScore>>& scores = {}) const;
  Json logprobs(const std::optional<std::vector<TokenScore>>& scores) const;

  const bool is_chat_;
  const std::string model_;
  const int64_t created_;  // Unix time
  const std::string id_;
};

}  // namespace predgen::serve
