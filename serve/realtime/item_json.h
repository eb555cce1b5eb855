#pragma once

#include <string>

#include "core/json.h"
#include "serve/realtime/conversation_items.h"

namespace predgen::serve {

/// `where`: its name in the event. ApiError for what is no message of texts and no function's.
ConversationItem parse_item(const Json& item, const std::string& where);
Json to_json(const ConversationItem& item);

}  // namespace predgen::serve
