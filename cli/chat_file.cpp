#include "cli/chat_file.h"

#include <filesystem>

#include "cli/input_rows.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace predgen::cli {

void save_chat(const std::string& file, const SavedChat& chat) {
  std::error_code absent;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, absent))) {
    throw UserError("{}: is there already; name a new file", file);
  }
  Json messages = Json::array();
  if (!chat.system_prompt.empty()) {
    messages.push_back({{"role", "system"}, {"content", chat.system_prompt}});
  }
  for (const Message& message : chat.history) {
    messages.push_back({{"role", message.role}, {"content", message.content}});
    if (!message.thought.empty()) messages.back()["reasoning_content"] = message.thought;
  }
  try {
    write_file(file, to_text(messages, 2) + "\n");
  } catch (const Error& error) {  // a full disk, too, must not end the chat
    throw UserError(std::string(error.what()));
  }
}

SavedChat load_chat(const std::string& file) {
  const InputRow row = read_messages(file);
  SavedChat chat;
  bool is_right = row.tools.empty();
  for (const Message& message : *row.messages) {
    if (message.role == "system" && chat.history.empty()) {
      chat.system_prompt += (chat.system_prompt.empty() ? "" : "\n\n") + message.content;
      continue;
    }
    const bool is_question = chat.history.size() % 2 == 0;
    is_right &= message.role == (is_question ? "user" : "assistant") && message.tool_calls.empty();
    chat.history.push_back(message);
  }
  if (!is_right || chat.history.size() % 2 == 1) {
    throw UserError(
        "{}: must hold questions and answers in turn, after system messages and without tools",
        file);
  }
  return chat;
}

}  // namespace predgen::cli
