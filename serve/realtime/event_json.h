#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "serve/realtime/conversation_items.h"

namespace predgen::serve {

/// `where`: its name in the event. ApiError unless it is a text message, a call or a result.
ConversationItem parse_item(const Json& item, const std::string& where);
Json to_json(const ConversationItem& item);

/// An event of today's Realtime API as the beta had it, with its names and the flat session;
/// nullopt: the beta had no such event.
std::optional<Json> to_beta(Json event);

}  // namespace predgen::serve
