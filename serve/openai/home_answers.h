#pragma once

#include <set>
#include <string>
#include <vector>

#include "serve/openai/completer.h"
#include "serve/openai/completion_request.h"
#include "serve/openai/server_tools.h"

namespace predgen::serve {

/// canonical_call() of the calls that the client of a home has made since the user last spoke, and
/// that are not to be made again: those that succeeded, or failed twice. What GetLiveContext said
/// before another call is old, and may be asked again. Empty if no system message lists a home
/// (read_home()).
std::set<std::string> calls_made(const std::vector<Message>& messages);

/// Answers a request with `answer`. Small models write a call of a home's functions again when they
/// are told its result, as often as it is made: such a call (calls_made()) is left out, and if the
/// answer has nothing else, the model answers again, in text. Usage counts both. With a
/// tool_choice that requires a call, and without a home, the answer is as it is.
CompletionResult without_calls_made(const CompletionRequest& request, bool is_first,
                                    const Completer::Sink& sink, const ServerTools::Answer& answer);

}  // namespace predgen::serve
