#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "serve/request_fields.h"

namespace predgen::serve {

/// Which endpoint a request is for.
enum class Endpoint { kChat, kCompletions };

/// What becomes of a parameter. The rule: one that asks for nothing that changes the answer is
/// ignored; one that changes it is honoured; one that would change it and cannot be honoured is
/// refused by name, unless its value asks for nothing.
enum class Taking { kHonoured, kIgnored, kRefused };

/// Parameters of requests that are treated alike: a row of the table in docs/serve.md.
struct RequestParameters {
  std::vector<std::string> names;
  std::vector<Endpoint> endpoints;
  Taking taking = Taking::kHonoured;
  std::string meaning;
  /// kRefused: values that ask for nothing, beside null and, unless `is_empty_a_wish`, false and an
  /// empty text, list or object.
  std::vector<Json> neutral{};
  bool is_empty_a_wish = false;
};

/// All that is known of the APIs of OpenAI, vLLM, llama.cpp, Ollama, LM Studio and Mistral. Other
/// parameters are ignored, too, and named in the answer's header and in the log.
const std::vector<RequestParameters>& request_parameters();

/// Ignores and refuses parameters of `endpoint` as the table says; what is honoured is left to the
/// caller, who asks for the fields. ApiError names a refused one.
void read_by_table(RequestFields& fields, Endpoint endpoint);

/// The table as Markdown.
std::string parameter_table();

}  // namespace predgen::serve
