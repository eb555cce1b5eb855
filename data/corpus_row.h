#pragma once

#include <array>
#include <string>

#include "core/json.h"
#include "data/conversation.h"

namespace predgen::data {

// How a row of a corpus holds a conversation. Of each of these keys the first that a row has, and
// that is not null, is read.

/// A list of messages: LMSYS-Chat-1M, OpenAI, ShareGPT.
inline constexpr std::array kMessageLists{"conversation", "messages", "conversations"};
/// In a message: who speaks, and what is said.
inline constexpr std::array kRoleKeys{"role", "from"};
inline constexpr std::array kTextKeys{"content", "value"};
/// A row without such a list asks under one of these, and has its answer, if any, under one of
/// those: a text, or a list of messages.
inline constexpr std::array kQuestionKeys{"prompt", "instruction", "text"};
inline constexpr std::array kAnswerKeys{"completion", "output", "response"};
/// What an "instruction" is about.
inline constexpr std::array kContextKeys{"input", "context"};
/// A system message beside the list.
inline constexpr std::array kSystemKeys{"system", "system_prompt"};
/// Two answers to choose between; such rows are refused.
inline constexpr std::array kPreferenceKeys{"chosen", "rejected"};

/// The error message for a row that has nothing to read.
inline constexpr const char* kNoMessages =
    "no list \"conversation\", \"messages\" or \"conversations\", and no \"prompt\", "
    "\"instruction\" or \"text\"";

/// Null if the row has none of the keys.
template <size_t N>
const char* key_of(const Json& row, const std::array<const char*, N>& keys) {
  for (const char* key : keys) {
    if (row.is_object() && row.contains(key) && !row.at(key).is_null()) return key;
  }
  return nullptr;
}

/// The role name for chat templates: "human" becomes "user", "gpt" "assistant", "developer"
/// "system"; others are unchanged.
std::string role_named(const std::string& name);

/// Whether a message of this role is a function's call or result.
bool is_tool_role(const std::string& name);

/// Reads a row in one of the layouts of data/corpus_row.h, whatever the file's format. What a
/// message lacks becomes the conversation's `fault`; UserError, which says what is wrong but not
/// where, for a row in no such layout.
CorpusConversation parse_conversation(const Json& row);

/// The key of a row that is a bare prompt: "prompt" if it has none of them.
const char* prompt_key(const Json& row);

}  // namespace predgen::data
