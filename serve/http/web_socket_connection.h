#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <stop_token>
#include <string>

#include "serve/http/http.h"
#include "serve/http/send_queue.h"
#include "serve/serve_config.h"

namespace predgen::serve {

/// A connection that went from HTTP to WebSocket. Used by one thread, but for the sender's part.
/// Every wait has a limit.
class WebSocketConnection : public WebSocketSender {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Stream = boost::beast::tcp_stream;

  /// Borrows all of them; `stream` has `context`, which is not to be run any more after run().
  WebSocketConnection(boost::asio::io_context& context, Stream& stream, const HttpLimits& limits,
                      WebSocketHandler& handler);

  /// Returns when the connection is over. `protocol`: what the server chose of the client's; empty:
  /// none.
  void run(const Request& request, const std::string& protocol, const std::stop_token& drain);

  void send(std::string text) override;
  void close(int code, const std::string& reason) override;

 private:
  using Error = boost::beast::error_code;
  void read();
  void take_message();
  void write(const std::string& message);
  void expire(const std::string& why);
  /// Without a word to the client.
  void abort();

  boost::asio::io_context& context_;
  Stream& stream_;
  const HttpLimits& limits_;
  WebSocketHandler& handler_;
  boost::beast::websocket::stream<Stream&> socket_;
  boost::asio::steady_timer send_timer_{context_}, silence_timer_{context_}, end_timer_{context_};
  boost::beast::flat_buffer buffer_;
  SendQueue queue_;
};

}  // namespace predgen::serve
