// Bytes that come to the HTTP port, through a connection whose client has sent all that it will.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "core/error.h"
#include "serve/http/http_server.h"
#include "tests/fuzz/targets.h"

namespace predgen {
namespace {

const serve::HttpLimits kLimits{.header_bytes = 2048,
                                .body_bytes = 2048,
                                .header_seconds = 1,
                                .idle_seconds = 1,
                                .body_seconds = 1,
                                .send_seconds = 0.05,
                                .message_bytes = 2048,
                                .queue_bytes = 8192};

/// Says again what it hears.
struct Echo : serve::WebSocketHandler {
  void on_open(serve::WebSocketSender& to) override {
    sender = &to;
    if (when_open) when_open();
  }
  void on_text(std::string_view message) override {
    ++num_messages;
    if (message == "close") sender->close(1000, "as you like");
    sender->send(std::string(message));
  }
  void on_binary() override { sender->close(1003, "text only"); }
  void on_drain() override {}
  void on_expiry(const std::string&) override {}
  void on_close() override {
    require(sender != nullptr, "a connection ends that never began");
    sender = nullptr;
  }

  std::function<void()> when_open{};
  serve::WebSocketSender* sender = nullptr;
  int num_messages = 0;
};

struct Ends {
  Ends() { require(::socketpair(AF_UNIX, SOCK_STREAM, 0, both.data()) == 0, "no socket pair"); }
  ~Ends() { ::close(both[1]); }
  std::array<int, 2> both{};  // the server's, which its connection closes, and the client's
};

/// What the client is sent for `input`, and for `frames` once it has a WebSocket.
std::string sent_for(std::string_view input, Echo& echo,
                     const std::optional<std::string_view>& frames = {}) {
  const Ends ends;
  ::fcntl(ends.both[1], F_SETFL, O_NONBLOCK);
  const auto send = [&](std::string_view bytes, bool is_last) {
    const ssize_t sent = ::send(ends.both[1], bytes.data(), bytes.size(), MSG_NOSIGNAL);
    require(sent == std::ssize(bytes), "longer than a socket takes");
    if (is_last) ::shutdown(ends.both[1], SHUT_WR);
  };
  send(input, /*is_last=*/!frames);
  if (frames) echo.when_open = [&] { send(*frames, /*is_last=*/true); };
  const serve::HttpHandler handler = [&](const serve::HttpRequest& request, serve::HttpReply& reply,
                                         const std::stop_token&) {
    if (request.wants_web_socket) return reply.open_web_socket(echo, request.protocols);
    if (request.path != "/events") return reply.send({.body = request.method + request.body});
    for (int i = 0; i < 3; ++i) reply.send_event(request.query);
  };
  const serve::BeginUpload no_upload;
  serve::HttpConnection connection(kLimits, handler, no_upload);
  connection.socket().assign(boost::asio::ip::tcp::v4(), ends.both[0]);
  connection.serve({}, {});
  connection.socket().close();
  std::string output;
  std::array<char, 4096> some{};
  for (ssize_t count = 0; (count = ::recv(ends.both[1], some.data(), some.size(), 0)) > 0;) {
    output.append(some.data(), static_cast<size_t>(count));
  }
  return output;
}

}  // namespace

void read_http(std::string_view input) {
  Echo echo;
  const std::string output = sent_for(input, echo);
  require(output.empty() || output.starts_with("HTTP/1."), "an answer that is no HTTP");
  if (output.size() < 10 || output[9] >= '4') throw UserError("refused");
}

void read_web_socket(std::string_view input) {
  constexpr std::string_view kHandshake =
      "GET /v1/realtime HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
  Echo echo;
  const std::string output = sent_for(kHandshake, echo, input);
  require(output.starts_with("HTTP/1.1 101"), "no WebSocket");
  require(echo.sender == nullptr, "a connection that never ends");
  if (echo.num_messages == 0) throw UserError("no message");
}

}  // namespace predgen
