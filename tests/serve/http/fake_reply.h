#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/http.h"

namespace predgen::serve {

/// Keeps what was sent.
class FakeReply : public HttpReply {
 public:
  bool is_gone() const override { return has_left; }
  void send(const HttpAnswer& answer) override { answers.push_back(answer); }
  void add_header(const std::string& name, const std::string& value) override {
    headers.emplace_back(name, value);
  }
  void send_event(std::string_view data, std::string_view type) override {
    offer_event(data, type);
    flush();
  }
  bool offer_event(std::string_view data, std::string_view type) override {
    events.emplace_back(data);
    event_types.emplace_back(type);
    if (on_event) on_event();
    return !is_busy;
  }
  void flush() override {
    if (on_flush) on_flush();
  }
  void send_part(const std::string& type, std::string_view data) override {
    part_type = type;
    parts += data;
    if (on_part) on_part();
  }
  void open_web_socket(WebSocketHandler& handler, const std::string& protocol) override {
    protocols.push_back(protocol);
    if (on_web_socket) on_web_socket(handler);
  }

  std::vector<HttpAnswer> answers;
  std::vector<std::string> events, event_types;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string part_type, parts;
  std::vector<std::string> protocols;  // of WebSockets
  std::function<void()> on_event, on_flush, on_part;
  std::function<void(WebSocketHandler&)> on_web_socket;
  std::atomic<bool> has_left = false, is_busy = false;
};

}  // namespace predgen::serve
