#include "act/mcp/http_transport.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <utility>

#include "act/mcp/transport.h"
#include "core/base64.h"
#include "core/stop.h"

namespace predgen::act {

std::vector<SseEvent> SseReader::push(std::string_view bytes) {
  std::vector<SseEvent> events;
  for (const char byte : bytes) {
    const bool is_second = byte == '\n' && was_return_;  // of "\r\n"
    was_return_ = byte == '\r';
    if (is_second) continue;
    if (byte == '\n' || byte == '\r') {
      take_line(events);
      line_.clear();
    } else {
      line_ += byte;
    }
    if (line_.size() + data_.size() > kMaxMessageBytes) {
      throw ServerError("has sent more than {} MiB", kMaxMessageBytes >> 20);
    }
  }
  return events;
}

void SseReader::take_line(std::vector<SseEvent>& events) {
  if (line_.empty()) {
    if (has_data_ && !data_.empty()) events.push_back({type_, data_});
    type_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  const std::string_view line = line_;
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
  } else if (field == "event") {
    type_ = value;
  } else if (field == "id") {
    const bool is_header = std::ranges::all_of(value, [](char c) { return c > ' ' && c < 127; });
    if (is_header && value.size() <= 256) last_id_ = value;
  } else if (field == "retry") {
    int64_t milliseconds = 0;
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (error == std::errc() && milliseconds >= 0) {
      retry_s_ = static_cast<double>(milliseconds) / 1e3;
    }
  }
}

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
  if (head.status / 100 != 2) throw_refusal(head.status);
}

HttpUrl SseTransport::address(Deadline deadline, const std::stop_token& stop) {
  Lock lock(mutex_);
  const bool is_known = changed_.wait_until(
      lock, stop, deadline, [&]() REQUIRES(mutex_) { return address_ || !failure_.empty(); });
  throw_if_stopped(stop);
  if (!is_known) throw NotDone("has not named an address for messages in time");
  if (!failure_.empty()) throw NotDone(failure_);
  return *address_;
}

void SseTransport::read(const std::stop_token& stop) {
  HttpExchange exchange(url_, std::chrono::steady_clock::now() + kLongestStream, stop);
  std::map<std::string, std::string> headers = server_.headers;
  headers["Accept"] = "text/event-stream";
  const HttpExchange::Head head = exchange.send("GET", headers, "");
  if (head.status != 200) throw_refusal(head.status);
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

namespace {

constexpr size_t kRefusalBytes = 64 << 10;
constexpr double kEndSeconds = 2, kRetrySeconds = 1, kLongestRetry = 60;
constexpr int kMaxFailures = 5;

constexpr const char* kBothForms = "application/json, text/event-stream";

/// A text as a header can carry it (SEP-2243).
std::string header_value(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; }) &&
                        !text.starts_with("=?");
  return is_plain ? text : "=?base64?" + to_base64(text) + "?=";
}

}  // namespace

HttpTransport::HttpTransport(const ServerEntry& server, MessageHandler& handler)
    : server_(server), url_(parse_http_url(server.url)), handler_(handler) {}

HttpTransport::~HttpTransport() {
  if (listener_.joinable()) {
    listener_.request_stop();
    listener_.join();
  }
  {
    const Lock lock(mutex_);
    if (session_.empty()) return;
  }
  try {
    HttpExchange exchange(url_, std::chrono::steady_clock::now() + steady_seconds(kEndSeconds), {});
    exchange.send("DELETE", headers(), "");
  } catch (const std::exception&) {  // it forgets the session by itself, some time
  }
}

HttpTransport::Headers HttpTransport::headers() const {
  Headers all = server_.headers;
  const Lock lock(mutex_);
  if (!session_.empty()) all["Mcp-Session-Id"] = session_;
  if (!revision_.empty()) all["MCP-Protocol-Version"] = revision_;
  return all;
}

HttpTransport::Headers HttpTransport::headers_for(const Json& message) const {
  Headers all = headers();
  all["Accept"] = kBothForms;
  const Json params = member(message, "params");
  // Those of the revision without sessions.
  if (text_of(member(params, "_meta"), kRevisionKey).empty()) return all;
  all["MCP-Protocol-Version"] = text_of(params["_meta"], kRevisionKey);
  all["Mcp-Method"] = text_of(message, "method");
  if (params.contains("name")) all["Mcp-Name"] = header_value(text_of(params, "name"));
  return all;
}

void HttpTransport::send(const Json& message, Deadline deadline, const std::stop_token& stop) {
  if (older_) return older_->send(message, deadline, stop);
  const bool wants_answer = message.contains("id") && message.contains("method");
  HttpExchange exchange(url_, deadline, stop);
  const HttpExchange::Head head = exchange.send("POST", headers_for(message), to_text(message));
  const bool is_first = text_of(message, "method") == "initialize";
  if (head.status / 100 != 2) {
    if (wants_answer && is_refused_by_answer(head, exchange)) return;
    if (is_first && try_older(head.status, message, deadline, stop)) return;
    refuse(head.status);
  }
  if (!wants_answer) return;
  if (is_first) {
    const Lock lock(mutex_);
    session_ = head.session;
  }
  const int64_t id = message["id"].get<int64_t>();
  SseReader reader;
  const bool is_answered = head.is_stream()
                               ? take_stream(exchange, reader, id)
                               : handler_.on_text(exchange.read_all(kMaxMessageBytes)) == id;
  if (!is_answered) throw ServerError("has not answered what it was asked");
}

bool HttpTransport::is_refused_by_answer(const HttpExchange::Head& head, HttpExchange& exchange) {
  return head.content_type.starts_with("application/json") &&
         handler_.on_text(exchange.read_all(kRefusalBytes));
}

bool HttpTransport::try_older(int status, const Json& message, Deadline deadline,
                              const std::stop_token& stop) {
  if (status != 400 && status != 404 && status != 405) return false;
  auto older = std::make_unique<SseTransport>(server_, handler_);
  try {
    older->send(message, deadline, stop);
  } catch (const ServerError&) {
    if (status == 405) throw;  // there is something, and this is why it cannot be had
    return false;
  }
  older_ = std::move(older);
  return true;
}

void HttpTransport::refuse(int status) {
  bool has_session = false;
  {
    const Lock lock(mutex_);
    has_session = !session_.empty();
  }
  if (status != 404 || !has_session) throw_refusal(status);
  const std::string why = "has forgotten the conversation";
  handler_.on_end(why);
  throw NotDone(why);
}

bool HttpTransport::take_stream(HttpExchange& exchange, SseReader& reader, int64_t id) {
  while (true) {
    const std::string_view bytes = exchange.read_some();
    if (bytes.empty()) return false;
    for (const SseEvent& event : reader.push(bytes)) {
      if (handler_.on_text(event.data) == id) return true;
    }
  }
}

void HttpTransport::listen(const std::string& revision, const Json& subscription) {
  {
    const Lock lock(mutex_);
    revision_ = revision;
  }
  if (older_) return;
  listener_ = std::jthread(
      [this, subscription](const std::stop_token& stop) { keep_listening(subscription, stop); });
}

void HttpTransport::keep_listening(const Json& subscription, const std::stop_token& stop) {
  int num_failures = 0;
  SseReader reader;
  while (!stop.stop_requested()) {
    try {
      if (!listen_once(subscription, reader, stop)) return;
      num_failures = 0;
    } catch (const Interrupted&) {
      return;
    } catch (const std::exception& error) {
      if (++num_failures == kMaxFailures) return handler_.on_end(error.what());
    }
    const double wait =
        std::clamp(reader.retry_s().value_or(kRetrySeconds), kRetrySeconds, kLongestRetry);
    wait_until(std::chrono::steady_clock::now() + steady_seconds(wait), stop);
  }
}

bool HttpTransport::listen_once(const Json& subscription, SseReader& reader,
                                const std::stop_token& stop) {
  HttpExchange exchange(url_, std::chrono::steady_clock::now() + kLongestStream, stop);
  const bool is_get = subscription.is_null();
  Headers all = is_get ? headers() : headers_for(subscription);
  if (is_get) all["Accept"] = "text/event-stream";
  if (is_get && !reader.last_id().empty()) all["Last-Event-ID"] = reader.last_id();
  const HttpExchange::Head head =
      exchange.send(is_get ? "GET" : "POST", all, is_get ? "" : to_text(subscription));
  if (head.status == 404) refuse(head.status);
  if (head.status != 200 || !head.is_stream()) return false;  // a server need not have it
  reader.restart();
  take_stream(exchange, reader, /*id=*/0);
  return true;
}

}  // namespace predgen::act
