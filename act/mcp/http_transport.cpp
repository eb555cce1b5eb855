#include "act/mcp/http_transport.h"

#include <algorithm>
#include <utility>

#include "act/mcp/json_rpc.h"
#include "core/base64.h"
#include "core/stop.h"

namespace predgen::act {
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
  if (status != 404 || !has_session) throw ServerError(refusal(status));
  const std::string why = "has forgotten the conversation";
  handler_.on_end(why);
  throw ServerError(why);
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
