#pragma once

#include <functional>
#include <string>

#include "core/json.h"

namespace predgen {

/// Orders of messages for templates that do not take them as they come: roles that must alternate
/// (Gemma, Mistral), or a system message that is refused or left out.
enum class MessageOrder { kAsGiven, kMerged, kWithoutSystem };

/// `messages` (objects with "role" and "content") in such an order. kMerged: neighbours of one role
/// are one message, system messages at the front are one, later ones are the user's, and an empty
/// user's message stands before an answer that comes first. kWithoutSystem: likewise, but the
/// system message begins the first message of the user. Nothing that a message says is left out.
Json in_order(const Json& messages, MessageOrder order);

/// What `run` makes of the messages in the first order that the template takes. If it `must_show`
/// them, also one in which it shows what systems and functions say. UserError that begins
/// with `where`, or the template's own refusal of the messages as they are.
std::string render_in_order(const Json& messages, const std::string& where, bool must_show,
                            const std::function<std::string(const Json&)>& run);

}  // namespace predgen
