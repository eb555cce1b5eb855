#pragma once

#include <array>
#include <string>

namespace predgen::data {

/// How a row of a corpus holds a conversation: a list of messages under the key `list`, each with
/// the keys `role` and `text`.
struct MessageLayout {
  const char* list;
  const char* role;
  const char* text;
};

/// A row is read with the first layout that it matches.
inline constexpr std::array kMessageLayouts{
    MessageLayout{"conversation", "role", "content"},    // LMSYS-Chat-1M
    MessageLayout{"messages", "role", "content"},        // OpenAI
    MessageLayout{"conversations", "from", "value"},     // ShareGPT
    MessageLayout{"conversations", "role", "content"}};  // the same key with the other names

/// A row without such a list is a bare prompt, under the first of these keys that it has.
inline constexpr std::array kPromptKeys{"prompt", "text"};

/// The error message for a row that has none of these.
inline constexpr const char* kNoMessages =
    "no list \"conversation\", \"messages\" or \"conversations\", and no text in \"prompt\" or "
    "\"text\"";

/// The role name for chat templates: "human" becomes "user", "gpt" "assistant", "developer"
/// "system"; others are unchanged.
std::string role_named(const std::string& name);

}  // namespace predgen::data
