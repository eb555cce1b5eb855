#pragma once

#include <mutex>
#include <string>

#include "serve/wyoming/wyoming_event.h"
#include "tests/serve/received_events.h"

namespace predgen::serve {

inline std::string type_of_wyoming_event(const WyomingEvent& event) { return event.type; }

/// Keeps the events that a client is sent; the end of the connection is an event "closed".
class FakeWyomingSender : public WyomingSender,
                          public ReceivedEvents<WyomingEvent, type_of_wyoming_event> {
 public:
  void send(const WyomingEvent& event) override {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) push(event);
  }
  void close() override {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) push({.type = "closed"});
    is_closed_ = true;
  }
  bool wait_for_room(const std::stop_token& stop) override { return !stop.stop_requested(); }

 private:
  std::mutex mutex_;  // what comes after the end is not kept
  bool is_closed_ = false;
};

}  // namespace predgen::serve
