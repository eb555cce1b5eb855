#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "act/tool.h"
#include "core/text.h"
#include "runtime/generate/generation_defaults.h"
#include "serve/api_error.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"
#include "text/grammar/answer_form.h"
#include "text/tokenizer.h"

namespace predgen::serve {

/// A body of POST /v1/chat/completions or /v1/completions.
struct CompletionRequest {
  std::string model;
  /// A chat so far; or text or ids to continue.
  std::variant<std::vector<Message>, std::string, TokenIds> prompt;
  std::optional<int64_t> max_tokens;   // the largest integer: as many as there is room for
  int64_t num_choices = 1;             // answers
  std::vector<std::string> stop;       // none is empty
  AskedSampling sampling;              // the seed is drawn if the request has none
  ToolSet tools{};                     // that the answer may call
  std::vector<act::Tool> own_tools{};  // those of them that the server runs (ServerTools)
  ToolChoice tool_choice{};            // kNone: then there are no tools
  bool forbids_calls = false;          // the model sees them, and the answer is text
  bool has_many_calls = true;          // otherwise it ends with the first one
  std::optional<AnswerForm> form{};    // of its text; nullopt: any
  std::string prediction{};            // what the answer may say, as a whole or in parts
  std::optional<int64_t> logprobs{};   // of each token and of this many likeliest; nullopt: none
  std::optional<bool> thinks{};        // before it answers; nullopt: as the server is configured
  std::string template_variables{};    // further ones, a JSON object; empty: none
  bool shows_thoughts = true;
  bool stream = false;
  bool include_usage = false;          // in a stream
  std::vector<std::string> ignored{};  // names of fields that no API has

  bool is_chat() const { return prompt.index() == 0; }
};

/// What becomes of each field is told in request_parameters.h. ApiError, which names the field: for
/// syntax, types and ranges, and for what would change the answer in a way that is not supported.
CompletionRequest parse_chat_request(std::string_view body);
/// ApiError as parse_chat_request(). Without max_tokens: 16, as OpenAI has it.
CompletionRequest parse_completion_request(std::string_view body);

/// ApiError 404 unless a request asks for the model that is here.
inline void check_model_name(const std::string& asked, const std::string& here) {
  if (asked == here) return;
  throw ApiError({.status = 404, .param = "model", .code = "model_not_found"},
                 fmt::format("the model '{}' is not here: ask for '{}'", shortened(asked), here));
}

/// What the text of an answer must be, in any of the fields that APIs have for it:
/// `response_format` (OpenAI's), `format` (Ollama's), `grammar` and `json_schema` (llama.cpp's),
/// `guided_..` and `structured_outputs` (vLLM's). nullopt: any text. ApiError for more than one,
/// and for what is none of these.
std::optional<AnswerForm> read_answer_form(RequestFields& fields);

}  // namespace predgen::serve
