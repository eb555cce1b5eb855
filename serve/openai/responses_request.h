#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "serve/api_error.h"
#include "serve/openai/completion_request.h"

namespace predgen::serve {

/// A body of POST /v1/responses.
struct ResponsesRequest {
  CompletionRequest chat{};  // that asks for the same
  Json asked{};              // its fields, most of which go back with the answer
};

/// Reads it by way of the chat request that asks for the same. ApiError as parse_chat_request(),
/// with the names that the fields have here; and for what needs stored responses.
ResponsesRequest parse_responses_request(std::string_view body);

/// An error about the chat request, with the names that the fields have here. `places`: where each
/// message of the chat comes from.
ApiError as_of_responses(const ApiError& error, const std::vector<std::string>& places = {});

}  // namespace predgen::serve
