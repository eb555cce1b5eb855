#include "act/mcp/sse_transport.h"

#include <chrono>
#include <map>

#include "act/mcp/sse_reader.h"
#include "core/stop.h"

namespace predgen::act {

SseTransport::SseTransport(const ServerEntry& server, MessageHandler& handler)
    : server_(server), url_(parse_http_url(server.url)), handler_(handler) {
  reader_ = std::jthread([this](const std::stop_token& stop) {
    std::string why = "has ended its stream";
    try {
      read(stop);
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (stop.stop_requested()) return;
    {
      const Lock lock(mutex_);
      failure_ = why;
      changed_.notify_all();
    }
    handler_.on_end(why);
  });
}

void SseTransport::send(const Json& message, Deadline deadline, const std::stop_token& stop) {
  const HttpUrl to = address(deadline, stop);
  HttpExchange exchange(to, deadline, stop);
  const HttpExchange::Head head = exchange.send("POST", server_.headers, to_text(message));
  if (head.status / 100 != 2) throw ServerError(refusal(head.status));
}

HttpUrl SseTransport::address(Deadline deadline, const std::stop_token& stop) {
  Lock lock(mutex_);
  const bool is_known = changed_.wait_until(
      lock, stop, deadline, [&]() REQUIRES(mutex_) { return address_ || !failure_.empty(); });
  throw_if_stopped(stop);
  if (!is_known) throw ServerError("has not named an address for messages in time");
  if (!failure_.empty()) throw ServerError(failure_);
  return *address_;
}

void SseTransport::read(const std::stop_token& stop) {
  HttpExchange exchange(url_, std::chrono::steady_clock::now() + kLongestStream, stop);
  std::map<std::string, std::string> headers = server_.headers;
  headers["Accept"] = "text/event-stream";
  const HttpExchange::Head head = exchange.send("GET", headers, "");
  if (head.status != 200) throw ServerError(refusal(head.status));
  if (!head.is_stream()) throw ServerError("answers without a stream of events");
  SseReader reader;
  for (auto bytes = exchange.read_some(); !bytes.empty(); bytes = exchange.read_some()) {
    for (const SseEvent& event : reader.push(bytes)) {
      event.type == "endpoint" ? take_address(event.data) : void(handler_.on_text(event.data));
    }
  }
}

void SseTransport::take_address(const std::string& said) {
  HttpUrl found = url_;
  if (said.find("://") != std::string::npos) {
    try {
      found = parse_http_url(said);
    } catch (const UserError& error) {
      throw ServerError("names an address for messages that is none: {}", error.what());
    }
  } else if (said.starts_with('/')) {
    found.path = said;
  } else {
    found.path = url_.path.substr(0, url_.path.find('?'));
    found.path = found.path.substr(0, found.path.rfind('/') + 1) + said;
  }
  // Else what is meant for this server, such as a key, would go to another one.
  if (found.authority() != url_.authority()) {
    throw ServerError("wants its messages sent to another server");
  }
  found = parse_http_url("http://" + found.authority() + found.path);
  const Lock lock(mutex_);
  address_ = found;
  changed_.notify_all();
}

}  // namespace predgen::act
