#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json.h"
#include "runtime/serve/web_socket.h"

namespace predgen {

/// Keeps the events that a client is sent.
class FakeSender : public WebSocketSender {
 public:
  void send(std::string text) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(Json::parse(text));
    changed_.notify_all();
  }
  void close(int code, const std::string&) override {
    send(R"({"type":"closed","code":)" + std::to_string(code) + "}");
  }

  /// The next event that was not returned yet, waiting for it.
  Json next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return num_read_ < events_.size(); })) {
      throw std::runtime_error("the client waits in vain");
    }
    return events_.at(num_read_++);
  }
  /// The next event of this type; those in front of it are skipped.
  Json next(const std::string& type) {
    for (size_t count = 0; count < 10000; ++count) {
      Json event = next();
      if (event["type"] == type) return event;
    }
    throw std::runtime_error("no event " + type);
  }
  /// All up to one of this type.
  std::vector<Json> until(const std::string& type) {
    std::vector<Json> events;
    do {
      events.push_back(next());
    } while (events.back()["type"] != type);
    return events;
  }
  size_t num_unread() {
    const std::lock_guard lock(mutex_);
    return events_.size() - num_read_;
  }

 private:
  static constexpr std::chrono::seconds kPatience{20};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Json> events_;
  size_t num_read_ = 0;
};

}  // namespace predgen
