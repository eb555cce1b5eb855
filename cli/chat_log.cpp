#include "cli/chat_log.h"

#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <string>
#include <vector>

#include "core/log.h"

namespace predgen::cli {

class ChatLog::Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(ChatScreen& screen) : screen_(&screen) {}
  void forget_screen() {
    const std::lock_guard lock(mutex_);
    screen_ = nullptr;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (screen_) screen_->print_line(std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  ChatScreen* screen_;
};

ChatLog::ChatLog(ChatScreen& screen)
    : before_(spdlog::default_logger()), sink_(std::make_shared<Sink>(screen)) {
  auto logger = std::make_shared<spdlog::logger>("", sink_);
  logger->set_level(before_->level());
  spdlog::set_default_logger(logger);
}

ChatLog::~ChatLog() {
  // A thread may still be in it.
  static std::vector<std::shared_ptr<spdlog::logger>> kept;
  kept.push_back(spdlog::default_logger());
  sink_->forget_screen();
  spdlog::set_default_logger(before_);
}

}  // namespace predgen::cli
