#include "serve/http/http_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cerrno>
#include <chrono>
#include <limits>
#include <sstream>
#include <utility>

#include "core/clock.h"
#include "serve/http/http.h"
#include "serve/http/tcp_server.h"
#include "serve/http/web_socket_connection.h"

namespace predgen::serve {

HttpRequest request_head(const HttpMessage& message) {
  namespace http = boost::beast::http;
  const auto plain = [](boost::beast::string_view text) {
    return std::string(text.data(), text.size());
  };
  const auto header = [&](http::field name) { return plain(message[name]); };
  const std::string target = plain(message.target());
  const size_t path_end = std::min(target.find('?'), target.size());
  return {.method = plain(message.method_string()),
          .path = target.substr(0, path_end),
          .authorization = header(http::field::authorization),
          .origin = header(http::field::origin),
          .query = target.substr(std::min(path_end + 1, target.size())),
          .host = header(http::field::host),
          .wants_web_socket = boost::beast::websocket::is_upgrade(message),
          .protocols = header(http::field::sec_websocket_protocol),
          .content_type = header(http::field::content_type),
          .beta = plain(message["OpenAI-Beta"]),
          .wanted_headers = header(http::field::access_control_request_headers)};
}

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

/// How long, and how much, a refused client may go on sending before it is cut off: while it sends
/// it does not read.
constexpr double kLingerSeconds = 2;
constexpr size_t kLingerBytes = 64 << 20;
/// How long a client may take to send a request while the server stops, or is full.
constexpr double kLateSeconds = 1;

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

/// What is wrong with a request; nullopt: the connection is over, so there is nobody to tell.
std::optional<ApiError> fault(const beast::error_code& error, const HttpLimits& limits,
                              int64_t most_of_body) {
  if (error == http::error::body_limit) {
    return ApiError({.status = 413, .code = "body_too_large"},
                    fmt::format("a request may have {} bytes", most_of_body));
  }
  if (error == http::error::header_limit) {
    return ApiError({.status = 431, .code = "header_too_large"},
                    fmt::format("a request's header may have {} bytes", limits.header_bytes));
  }
  const bool is_http = error.category() == make_error_code(http::error::bad_method).category();
  const bool is_end = error == http::error::end_of_stream || error == http::error::partial_message;
  if (!is_http || is_end) return std::nullopt;
  return ApiError({.code = "bad_http"}, "this is not HTTP: " + error.message());
}

}  // namespace

HttpConnection::HttpConnection(const HttpLimits& limits, const HttpHandler& handler,
                               const BeginUpload& begin_upload)
    : limits_(limits), handler_(handler), begin_upload_(begin_upload) {}

template <class Start>
beast::error_code HttpConnection::finish(double seconds, const Start& start) {
  beast::error_code result;
  stream_.expires_after(steady_seconds(seconds));
  start([&](const beast::error_code& error, size_t) { result = error; });
  context_.restart();
  context_.run();
  return result;
}

void HttpConnection::serve(const std::stop_token& drain, const std::stop_token& stop) {
  beast::error_code ignored;
  socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  drain_ = drain;
  is_late_ = drain.stop_requested();
  // Posted work runs in this thread, during finish().
  const std::stop_callback on_drain(drain, [this] {
    asio::post(context_, [this] {
      beast::error_code failed;  // a request that has already come will be answered
      if (is_idle_ && !is_late_ && socket().available(failed) == 0) stream_.cancel();
    });
  });
  const std::stop_callback on_stop(stop,
                                   [this] { asio::post(context_, [this] { stream_.close(); }); });
  do {
    const std::optional<HttpRequest> request = read();
    if (!request) return;
    handler_(*request, *this, stop);
    end_reply();
  } while (goes_on());
}

beast::error_code HttpConnection::read_header(Parser& parser, double seconds) {
  parser.header_limit(static_cast<uint32_t>(limits_.header_bytes));
  parser.body_limit(std::numeric_limits<uint64_t>::max());  // its head decides
  return finish(seconds, [&](const auto& handler) {
    http::async_read_header(stream_, buffer_, parser, handler);
  });
}

HttpRequest HttpConnection::head_of(const HttpMessage& message) {
  HttpRequest head = request_head(message);
  head.is_late = is_late_;
  head.peer = peer_of(socket());
  return head;
}

int64_t HttpConnection::most_of_body(const HttpRequest& head,
                                     std::shared_ptr<const void>& upload) const {
  if (begin_upload_ && is_form(head.content_type)) upload = begin_upload_(head);
  return upload ? limits_.upload_bytes : limits_.body_bytes;
}

std::optional<HttpRequest> HttpConnection::read() {
  Parser parser;
  const double patience =
      std::exchange(is_first_, false) ? limits_.header_seconds : limits_.idle_seconds;
  is_idle_ = true;
  beast::error_code error =
      read_header(parser, is_late_ ? std::min(patience, kLateSeconds) : patience);
  is_idle_ = false;
  version_ = 11;
  keeps_alive_ = has_parts_ = has_events_ = is_head_ = false;
  unsent_.clear();
  headers_.clear();
  std::shared_ptr<const void> upload;
  int64_t most = limits_.body_bytes;
  if (!error) {
    try {
      most = most_of_body(head_of(parser.get()), upload);
    } catch (const ApiError& refusal) {
      refuse_rest(refusal);
      return std::nullopt;
    }
    parser.body_limit(static_cast<uint64_t>(most));
    const auto length = parser.content_length();
    if (length && *length > static_cast<uint64_t>(most)) error = http::error::body_limit;
  }
  if (!error && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    error = finish(limits_.send_seconds,
                   [&](const auto& handler) { http::async_write(stream_, go_on, handler); });
  }
  if (!error) {
    error = finish(limits_.body_seconds, [&](const auto& handler) {
      http::async_read(stream_, buffer_, parser, handler);
    });
  }
  if (error) {
    if (const auto told = fault(error, limits_, most)) refuse_rest(*told);
    return std::nullopt;
  }
  auto request = parser.release();
  version_ = request.version();
  is_head_ = request.method() == http::verb::head;
  keeps_alive_ = request.keep_alive() && !is_head_;
  HttpRequest asked = head_of(request);
  asked.body = std::move(request.body());
  asked.upload = std::move(upload);
  if (asked.wants_web_socket) upgrade_ = std::move(request);
  return asked;
}

void HttpConnection::refuse(const ApiError& error) {
  HttpAnswer answer{.status = error.status(), .body = error.json()};
  if (error.status() == 503) answer.headers.emplace_back("Retry-After", "1");
  send(answer);
}

void HttpConnection::refuse_one_more(const std::stop_token& stop) {
  const std::stop_callback on_stop(stop,
                                   [this] { asio::post(context_, [this] { stream_.close(); }); });
  Parser parser;  // a client that sends nothing is cut off
  if (const beast::error_code error = read_header(parser, kLateSeconds)) {
    if (const auto told = fault(error, limits_, limits_.body_bytes)) refuse_rest(*told);
    return;
  }
  const auto& request = parser.get();
  const std::string target = text_of(request.target());
  if (request.method() == http::verb::get && target.substr(0, target.find('?')) == kHealthPath) {
    handler_({.method = "GET", .path = kHealthPath, .host = text_of(request[http::field::host])},
             *this, stop);
    return linger();
  }
  refuse_rest(ApiError({.status = 503, .type = "server_error", .code = "overloaded"},
                       "there are too many connections, or too many of your address: try again"));
}

void HttpConnection::refuse_rest(const ApiError& error) {
  refuse(error);
  linger();
}

void HttpConnection::linger() {
  beast::error_code ended;
  socket().shutdown(asio::ip::tcp::socket::shutdown_send, ended);
  std::array<char, 4096> scratch;
  size_t left = kLingerBytes;
  // One time limit for all of it, so finish() is not used.
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kLingerSeconds);
  while (!ended && left > 0) {
    const std::chrono::duration<double> rest = end - std::chrono::steady_clock::now();
    if (rest.count() <= 0) return;
    ended = finish(rest.count(), [&](const auto& handler) {
      stream_.async_read_some(asio::buffer(scratch), handler);
    });
    left -= std::min(left, scratch.size());
  }
}

void HttpConnection::ask_whether_there() const {
  if (version_ < 11 || !unsent_.empty() || (has_parts_ && !has_events_)) return;
  const std::string_view nothing = has_parts_ ? "3\r\n:\n\n\r\n" : "HTTP/1.1 100 Continue\r\n\r\n";
  const int socket = const_cast<beast::tcp_stream&>(stream_).socket().native_handle();
  ::send(socket, nothing.data(), nothing.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool HttpConnection::is_gone() const {
  if (is_lost_) return true;
  pollfd socket{.fd = const_cast<beast::tcp_stream&>(stream_).socket().native_handle(),
                .events = POLLRDHUP,
                .revents = 0};
  if (::poll(&socket, 1, /*timeout=*/0) <= 0) return false;
  if (socket.revents & (POLLHUP | POLLERR | POLLNVAL)) return true;
  if (!is_half_closed_.exchange(true)) ask_whether_there();
  return false;
}

void HttpConnection::add_header(const std::string& name, const std::string& value) {
  headers_.emplace_back(name, value);
}

void HttpConnection::send(const HttpAnswer& answer) {
  if (is_lost_) return;
  http::response<http::string_body> response(http::int_to_status(answer.status), version_);
  response.set(http::field::content_type, answer.type);
  for (const auto& [name, value] : headers_) response.set(name, value);
  for (const auto& [name, value] : answer.headers) response.set(name, value);
  response.body() = answer.body;
  response.keep_alive(goes_on());
  response.prepare_payload();
  if (is_head_) response.body().clear();  // the length stays
  is_lost_ = finish(limits_.send_seconds, [&](const auto& handler) {
               http::async_write(stream_, response, handler);
             }).failed();
}

std::string HttpConnection::begin_parts(const std::string& type) {
  has_parts_ = true;
  if (version_ < 11) keeps_alive_ = false;  // its end is the connection's
  http::response<http::empty_body> response(http::status::ok, version_);
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-cache");
  for (const auto& [name, value] : headers_) response.set(name, value);
  response.keep_alive(goes_on());
  response.chunked(version_ >= 11);
  std::ostringstream header;
  header << response.base();
  return header.str();
}

void HttpConnection::send_event(std::string_view data, std::string_view type) {
  if (!offer_event(data, type)) flush();
}

bool HttpConnection::offer_event(std::string_view data, std::string_view type) {
  has_events_ = true;
  const std::string head = type.empty() ? "" : fmt::format("event: {}\n", type);
  return offer_part("text/event-stream", fmt::format("{}data: {}\n\n", head, data));
}

void HttpConnection::send_part(const std::string& type, std::string_view data) {
  if (!offer_part(type, data)) flush();
}

bool HttpConnection::offer_part(const std::string& type, std::string_view data) {
  if (is_lost_) return true;
  if (!has_parts_) unsent_ += begin_parts(type);
  if (!data.empty()) {  // an empty chunk is the last one
    unsent_ += version_ < 11 ? data : fmt::format("{:x}\r\n{}\r\n", data.size(), data);
  }
  const ssize_t sent =
      ::send(socket().native_handle(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    is_lost_ = errno != EAGAIN && errno != EINTR;
  } else {
    unsent_.erase(0, static_cast<size_t>(sent));
  }
  return is_lost_ || unsent_.empty();
}

void HttpConnection::flush() {
  if (is_lost_ || unsent_.empty()) return;
  is_lost_ = finish(limits_.send_seconds, [&](const auto& handler) {
               asio::async_write(stream_, asio::buffer(unsent_), handler);
             }).failed();
  unsent_.clear();
}

void HttpConnection::open_web_socket(WebSocketHandler& handler, const std::string& protocol) {
  keeps_alive_ = false;
  if (std::exchange(is_lost_, true)) return;  // HTTP is over
  WebSocketConnection(context_, stream_, limits_, handler).run(upgrade_, protocol, drain_);
}

void HttpConnection::end_reply() {
  flush();
  if (!has_parts_ || is_lost_ || version_ < 11) return;
  is_lost_ = finish(limits_.send_seconds, [&](const auto& handler) {
               asio::async_write(stream_, http::make_chunk_last(), handler);
             }).failed();
}

HttpServer::HttpServer(const std::string& host, int port, const HttpLimits& limits,
                       HttpHandler handler, BeginUpload begin_upload)
    : limits_(limits),
      handler_(std::move(handler)),
      begin_upload_(std::move(begin_upload)),
      server_(
          host, port,
          {.connections = limits.connections,
           .connections_per_address = limits.of_one_address(),
           .grace_seconds = limits.grace_seconds,
           .takes_late = true},
          [this] { return std::make_unique<HttpConnection>(limits_, handler_, begin_upload_); }) {}

}  // namespace predgen::serve
