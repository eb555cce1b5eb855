#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "cli/chat_screen.h"

namespace predgen::cli {

/// While this lives, log messages are lines of a chat: otherwise they would garble its screen.
class ChatLog {
 public:
  /// `screen` outlives this.
  explicit ChatLog(ChatScreen& screen);
  ~ChatLog();
  ChatLog(const ChatLog&) = delete;

 private:
  class Sink;
  std::shared_ptr<spdlog::logger> before_;
  std::shared_ptr<Sink> sink_;
};

}  // namespace predgen::cli
