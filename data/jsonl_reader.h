#pragma once

#include "core/json.h"
#include "data/conversation.h"

namespace predgen::data {

std::unique_ptr<ConversationReader> open_jsonl(const std::filesystem::path& file, BadRows bad_rows);

/// A row of the corpus; UserError, without a place, says what is wrong with it.
CorpusConversation parse_conversation(const Json& row);

}  // namespace predgen::data
