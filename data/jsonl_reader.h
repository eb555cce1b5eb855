#pragma once

#include "core/json.h"
#include "data/conversation.h"

namespace predgen::data {

std::unique_ptr<ConversationReader> open_jsonl(const std::filesystem::path& file, BadRows bad_rows);

/// A row of the corpus; UserError, without a place, says what is wrong with it.
CorpusConversation parse_conversation(const Json& row);

/// The key of a row that is a prompt alone: "text" if it has no "prompt".
const char* prompt_key(const Json& row);

}  // namespace predgen::data
