#pragma once

#include <array>
#include <string>

namespace predgen::data {

/// How a row of a corpus holds a conversation: a list of messages under one key, of which each has
/// these two.
struct MessageLayout {
  const char* list;
  const char* role;
  const char* text;
};

/// A row is read by the first one whose list it has with such messages.
inline constexpr std::array kMessageLayouts{
    MessageLayout{"conversation", "role", "content"},    // LMSYS-Chat-1M
    MessageLayout{"messages", "role", "content"},        // OpenAI
    MessageLayout{"conversations", "from", "value"},     // ShareGPT
    MessageLayout{"conversations", "role", "content"}};  // the same key with the other names

/// A row without such a list is a prompt alone, under the first of these keys that it has.
inline constexpr std::array kPromptKeys{"prompt", "text"};

/// What the error about a row says that has none of these.
inline constexpr const char* kNoMessages =
    "no list \"conversation\", \"messages\" or \"conversations\", and no text in \"prompt\" or "
    "\"text\"";

/// The role that chat templates know: "human" is a user, "gpt" an assistant, "developer" a system;
/// others are as they are.
std::string role_named(const std::string& name);

}  // namespace predgen::data
