#pragma once

#include <optional>

#include "serve/request_fields.h"
#include "text/grammar/answer_form.h"

namespace predgen::serve {

/// What the text of an answer must be, in any of the fields that APIs have for it:
/// `response_format` (OpenAI's), `format` (Ollama's), `grammar` and `json_schema` (llama.cpp's),
/// `guided_..` and `structured_outputs` (vLLM's). nullopt: any text. ApiError for more than one,
/// and for what is none of these.
std::optional<AnswerForm> read_answer_form(RequestFields& fields);

}  // namespace predgen::serve
