#pragma once

#include <vector>

#include "runtime/converse/early_calls.h"
#include "serve/openai/completer.h"
#include "serve/openai/completion_request.h"
#include "serve/openai/server_tools.h"

namespace predgen::serve {

/// The calls that a client has made since the user last spoke, and that are not to be made again:
/// those that succeeded, or failed twice. What was looked up before another call is old.
AnsweredCalls calls_made(const std::vector<Message>& messages);

/// Answers a request with `answer`, without what small models write in the place of an answer when
/// they have called a function of the home that a system message lists (read_home()):
/// - a call that was made (calls_made()) or that the answer has already, which also ends it there;
/// - whatever follows a look at states, which is no answer before its result is known.
/// If nothing else is left, the model answers again, in text; usage counts both. Without a home,
/// and with a tool_choice that requires a call, the answer is as it is.
CompletionResult answer_of_home(const CompletionRequest& request, bool is_first,
                                const Completer::Sink& sink, const ServerTools::Answer& answer);

}  // namespace predgen::serve
