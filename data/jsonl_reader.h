#pragma once

#include "core/json.h"
#include "data/conversation.h"

namespace predgen::data {

std::unique_ptr<ConversationReader> open_jsonl(const std::filesystem::path& file, BadRows bad_rows);

/// Parses a row of the corpus; UserError says what is wrong with it, but not where it is.
CorpusConversation parse_conversation(const Json& row);

/// The key of a row that is a bare prompt: "text" if it has no "prompt".
const char* prompt_key(const Json& row);

}  // namespace predgen::data
