#pragma once

#include "core/json.h"
#include "data/conversation.h"

namespace predgen::data {

/// Reads a row in one of the layouts of data/row_layout.h, whatever the file's format. What a
/// message lacks becomes the conversation's `fault`; UserError, which says what is wrong but not
/// where, for a row in no such layout.
CorpusConversation parse_conversation(const Json& row);

/// The key of a row that is a bare prompt: "prompt" if it has none of them.
const char* prompt_key(const Json& row);

}  // namespace predgen::data
