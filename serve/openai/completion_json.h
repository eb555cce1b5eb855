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

}  // namespace predgen::serve
