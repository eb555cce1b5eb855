#pragma once

#include <string>

#include "core/json.h"
#include "serve/realtime/conversation_items.h"

namespace predgen::serve {

/// `where`: its name in the event. ApiError unless it is a text message, a call or a result.
ConversationItem parse_item(const Json& item, const std::string& where);
Json to_json(const ConversationItem& item);

}  // namespace predgen::serve
