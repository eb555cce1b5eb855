#include "serve/http/web_socket_connection.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "core/clock.h"
#include "serve/http/tcp_server.h"

namespace predgen::serve {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

WebSocketConnection::WebSocketConnection(asio::io_context& context, Stream& stream,
                                         const HttpLimits& limits, WebSocketHandler& handler)
    : context_(context),
      stream_(stream),
      limits_(limits),
      handler_(handler),
      socket_(stream),
      queue_(
          context, static_cast<size_t>(limits.queue_bytes),
          [this](const std::string& message) { write(message); }, [this] { abort(); }) {}

void WebSocketConnection::run(const Request& request, const std::string& protocol,
                              const std::stop_token& drain) {
  stream_.expires_never();  // the WebSocket has times of its own
  socket_.set_option(
      websocket::stream_base::timeout{.handshake_timeout = steady_seconds(limits_.send_seconds),
                                      .idle_timeout = steady_seconds(limits_.idle_seconds),
                                      .keep_alive_pings = true});
  socket_.set_option(
      websocket::stream_base::decorator([&protocol](websocket::response_type& response) {
        if (!protocol.empty()) {
          response.set(beast::http::field::sec_websocket_protocol, protocol);
        }
      }));
  socket_.read_message_max(static_cast<size_t>(limits_.message_bytes));
  bool is_open = false;
  socket_.async_accept(request, [&](const Error& error) {
    if (error) return;
    is_open = true;
    start_timer(end_timer_, limits_.session_seconds,
                [this] { expire("it has lasted long enough"); });
    handler_.on_open(*this);
    read();
  });
  {
    // What is posted runs in this thread, during run().
    const std::stop_callback on_drain(drain, [&] {
      asio::post(context_, [&] {
        if (is_open) handler_.on_drain();
      });
    });
    try {
      context_.restart();
      context_.run();
    } catch (...) {
      abort();
      if (is_open) handler_.on_close();
      throw;
    }
  }
  if (is_open) handler_.on_close();
}

void WebSocketConnection::read() {
  start_timer(silence_timer_, limits_.silence_seconds,
              [this] { expire("nothing came for too long"); });
  socket_.async_read(buffer_, [this](const Error& error, size_t) {
    if (error) return abort();
    take_message();
    read();
  });
}

void WebSocketConnection::take_message() {
  const auto data = buffer_.data();
  if (socket_.got_text()) {
    handler_.on_text({static_cast<const char*>(data.data()), data.size()});
  } else {
    handler_.on_binary();
  }
  buffer_.consume(buffer_.size());
}

void WebSocketConnection::expire(const std::string& why) {
  handler_.on_expiry(why);
  close(kGoingAway, why);
}

void WebSocketConnection::abort() {
  queue_.lose();
  stream_.close();
  context_.stop();  // Beast's own timer would be waited for
}

void WebSocketConnection::send(std::string text) { queue_.add(std::move(text)); }

void WebSocketConnection::close(int code, const std::string& reason) {
  queue_.close([this, code, reason] {
    start_timer(send_timer_, limits_.send_seconds, [this] { abort(); });
    socket_.async_close({static_cast<websocket::close_code>(code), reason},
                        [this](const Error&) { abort(); });
  });
}

void WebSocketConnection::write(const std::string& message) {
  start_timer(send_timer_, limits_.send_seconds, [this] { abort(); });
  socket_.text(true);
  socket_.async_write(asio::buffer(message), [this](const Error& error, size_t) {
    send_timer_.cancel();
    if (error) return abort();
    queue_.note_written();
  });
}

}  // namespace predgen::serve
