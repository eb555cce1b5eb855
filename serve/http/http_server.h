#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "serve/api_error.h"
#include "serve/http/http.h"
#include "serve/http/tcp_server.h"
#include "serve/serve_config.h"

namespace predgen::serve {

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;

/// What the head of a message says; the body stays where it is.
HttpRequest request_head(const HttpMessage& message);

/// A client's connection, used by one thread. Every wait has a limit.
class HttpConnection : public TcpConnection, public HttpReply {
 public:
  /// Borrows all.
  HttpConnection(const HttpLimits& limits, const HttpHandler& handler,
                 const BeginUpload& begin_upload);

  boost::asio::ip::tcp::socket& socket() override { return stream_.socket(); }

  /// Answers requests, one after the other, until the client or an error ends it; after `drain`,
  /// until the current request ends; after `stop` at once.
  void serve(const std::stop_token& drain, const std::stop_token& stop) override;
  /// As TcpConnection, but answers /health.
  void refuse_one_more(const std::stop_token& stop) override;

  bool is_gone() const override;
  void add_header(const std::string& name, const std::string& value) override;
  void send(const HttpAnswer& answer) override;
  void send_event(std::string_view data, std::string_view type) override;
  bool offer_event(std::string_view data, std::string_view type) override;
  void flush() override;
  void send_part(const std::string& type, std::string_view data) override;
  void open_web_socket(WebSocketHandler& handler, const std::string& protocol) override;

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  /// What a message's head says.
  HttpRequest head_of(const HttpMessage& message);
  /// The most bytes that the body after this head may have; `upload` is begun for a form. ApiError:
  /// it is refused.
  int64_t most_of_body(const HttpRequest& head, std::shared_ptr<const void>& upload) const;
  /// Reads a header within `seconds`.
  boost::beast::error_code read_header(Parser& parser, double seconds);
  /// nullopt: there will be no more.
  std::optional<HttpRequest> read();
  /// Answers with this error only.
  void refuse(const ApiError& error);
  /// Sends the error of a request that was not read to its end.
  void refuse_rest(const ApiError& error);
  /// Everything is sent: reads what still comes, until the client has read the answer.
  void linger();
  /// What comes before the first part.
  std::string begin_parts(const std::string& type);
  /// As offer_event().
  bool offer_part(const std::string& type, std::string_view data);
  void end_reply();
  /// Sends a half-closed client something meaningless: if it has closed its socket, its system
  /// answers with a reset. Not within sound or HTTP/1.0, which have nothing of the kind.
  void ask_whether_there() const;
  /// Whether this client's next request will be answered.
  bool goes_on() const { return keeps_alive_ && !is_lost_ && !drain_.stop_requested(); }
  /// Runs an asynchronous operation to its end, or cancels it after `seconds`.
  template <class Start>
  boost::system::error_code finish(double seconds, const Start& start);

  const HttpLimits& limits_;
  const HttpHandler& handler_;
  const BeginUpload& begin_upload_;
  boost::asio::io_context context_{1};
  boost::beast::tcp_stream stream_{context_};
  boost::beast::flat_buffer buffer_;
  std::stop_token drain_;
  bool is_late_ = false;                              // it began while the server was stopping
  bool is_first_ = true;                              // no request has come yet
  bool is_idle_ = false;                              // waits for a request
  mutable std::atomic<bool> is_half_closed_ = false;  // the client sends no more, but may read on
  // Of the request under way:
  HttpMessage upgrade_;  // if it wants a WebSocket
  unsigned version_ = 11;
  bool keeps_alive_ = false;
  bool is_head_ = false;
  std::vector<std::pair<std::string, std::string>> headers_;  // that were added
  bool has_parts_ = false;
  bool has_events_ = false;  // the parts are server-sent events
  std::string unsent_;       // part of what was offered
  bool is_lost_ = false;     // nothing more can be sent
};

/// HTTP/1.1 with a thread for each connection. Requests that break its rules or limits are answered
/// here, with errors as ApiError has them.
class HttpServer {
 public:
  /// Listens from now on. UserError if `host` is no address of this machine, or the port is taken.
  HttpServer(const std::string& host, int port, const HttpLimits& limits, HttpHandler handler,
             BeginUpload begin_upload = {});

  /// The port that it listens at, even if 0 was asked for.
  int port() const { return server_.port(); }
  /// Answers until `stop`. Answers in progress may then take up to limits.grace_seconds before they
  /// are broken off; requests that arrive meanwhile are `is_late`.
  void run(const std::stop_token& stop) { server_.run(stop); }

 private:
  const HttpLimits limits_;
  const HttpHandler handler_;
  const BeginUpload begin_upload_;
  TcpServer server_;  // last: its connections use them
};

}  // namespace predgen::serve
