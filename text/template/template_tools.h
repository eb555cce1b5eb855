#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/tokenizer.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// A call as templates want it: an object as arguments.
Json call_json(const std::string& id, const std::string& name, const Json& arguments);

/// Mistral's templates take only ids of nine letters and digits: the last ones of others.
std::string nine_characters(const std::string& id);

/// `value` with all its texts and keys changed.
Json with_texts(const Json& value, const std::function<std::string(const std::string&)>& change);

/// Renders messages and tools, as a template does; UserError where it does not take them.
using RunTemplate =
    std::function<std::string(const Json& messages, bool add_generation_prompt, const Json& tools)>;
/// The form of calls in what a template makes of one; kNone if it does not show tools.
ToolFormat find_tool_format(const RunTemplate& run);

/// What a template that shows tools does not take of a conversation with calls.
struct CallOrder {
  bool is_one_a_message = false;  // several calls in one message are refused (Llama 3)
  // Roles must alternate (Mistral), and this stands between a function's words and a user's.
  std::optional<std::string> between{};
};
CallOrder find_call_order(const RunTemplate& run);
/// `messages` as such a template takes them.
std::vector<Message> arranged(const std::vector<Message>& messages, const CallOrder& order);

}  // namespace predgen
