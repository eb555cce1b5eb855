#include "act/mcp/http_transport.h"

#include <algorithm>

#include "act/mcp/json_rpc.h"
#include "core/base64.h"
#include "core/stop.h"

namespace predgen::act {
namespace {

constexpr size_t kRefusalBytes = 64 << 10;
constexpr double kEndSeconds = 2, kRetrySeconds = 1, kLongestRetry = 60;
constexpr int kMaxFailures = 5;
constexpr std::chrono::hours kLongStream{24};

constexpr const char* kBothForms = "application/json, text/event-stream";

/// A text as a header can carry it (SEP-2243).
std::string header_value(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; }) &&
                        !text.starts_with("=?");
  return is_plain ? text : "=?base64?" + to_base64(text) + "?=";
}

bool is_stream(const HttpExchange::Head& head) {
  return head.content_type.starts_with("text/event-stream");
}

std::string refusal(int status) {
  switch (status) {
    case 401:
    case 403:
      return fmt::format("refuses the request ({}): give it a key, as {}", status,
                         R"("headers": {"Authorization": "Bearer ${KEY}"})");
    case 404:
      return "has no MCP at this address (404): the path is often /mcp";
    default:
      return fmt::format("answers with HTTP status {}", status);
  }
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
  const bool wants_answer = message.contains("id") && message.contains("method");
  HttpExchange exchange(url_, deadline, stop);
  const HttpExchange::Head head = exchange.send("POST", headers_for(message), to_text(message));
  if (head.status / 100 != 2) return take_refusal(head, exchange, wants_answer);
  if (!wants_answer) return;
  if (message["method"] == "initialize") {
    const Lock lock(mutex_);
    session_ = head.session;
  }
  const int64_t id = message["id"].get<int64_t>();
  SseReader reader;
  const bool is_answered = is_stream(head)
                               ? take_stream(exchange, reader, id)
                               : handler_.on_text(exchange.read_all(kMaxMessageBytes)) == id;
  if (!is_answered) throw ServerError("has not answered what it was asked");
}

void HttpTransport::take_refusal(const HttpExchange::Head& head, HttpExchange& exchange,
                                 bool has_body_answer) {
  const bool is_json = head.content_type.starts_with("application/json");
  if (has_body_answer && is_json && handler_.on_text(exchange.read_all(kRefusalBytes))) return;
  bool has_session = false;
  {
    const Lock lock(mutex_);
    has_session = !session_.empty();
  }
  const std::string why =
      head.status == 404 && has_session ? "has forgotten the conversation" : refusal(head.status);
  if (head.status == 404 && has_session) handler_.on_end(why);
  throw ServerError(why);
}

bool HttpTransport::take_stream(HttpExchange& exchange, SseReader& reader, int64_t id) {
  while (true) {
    const std::string_view bytes = exchange.read_some();
    if (bytes.empty()) return false;
    for (const std::string& text : reader.push(bytes)) {
      if (handler_.on_text(text) == id) return true;
    }
  }
}

void HttpTransport::listen(const std::string& revision, const Json& subscription) {
  {
    const Lock lock(mutex_);
    revision_ = revision;
  }
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
  HttpExchange exchange(url_, std::chrono::steady_clock::now() + kLongStream, stop);
  const bool is_get = subscription.is_null();
  Headers all = is_get ? headers() : headers_for(subscription);
  if (is_get) all["Accept"] = "text/event-stream";
  if (is_get && !reader.last_id().empty()) all["Last-Event-ID"] = reader.last_id();
  const HttpExchange::Head head =
      exchange.send(is_get ? "GET" : "POST", all, is_get ? "" : to_text(subscription));
  if (head.status == 404) take_refusal(head, exchange, /*has_body_answer=*/false);
  if (head.status != 200 || !is_stream(head)) return false;  // a server need not have it
  reader.restart();
  take_stream(exchange, reader, /*id=*/0);
  return true;
}

}  // namespace predgen::act
