#include "serve/http/http.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <functional>
#include <semaphore>

#include "core/error.h"
#include "tests/serve/http/local_server.h"

namespace predgen::serve {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::asio::ip::tcp;

/// A client as Beast has it.
class Client {
 public:
  explicit Client(int port, const std::string& protocol = "") : socket_(context_) {
    socket_.next_layer().connect(
        {boost::asio::ip::make_address("127.0.0.1"), static_cast<uint16_t>(port)});
    socket_.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
      if (!protocol.empty()) {
        request.set(beast::http::field::sec_websocket_protocol, protocol);
      }
    }));
    websocket::response_type response;
    socket_.handshake(response, "127.0.0.1", "/socket?model=m");
    chosen = std::string(response[beast::http::field::sec_websocket_protocol]);
  }

  void send(const std::string& text, bool is_text = true) {
    socket_.text(is_text);
    beast::error_code gone;
    socket_.write(boost::asio::buffer(text), gone);
  }
  /// "closed CODE" at the end.
  std::string read() {
    beast::flat_buffer buffer;
    beast::error_code error;
    socket_.read(buffer, error);
    if (error == websocket::error::closed) {
      return "closed " + std::to_string(socket_.reason().code);
    }
    return error ? "lost" : beast::buffers_to_string(buffer.data());
  }
  void close() { socket_.close(websocket::close_code::normal); }
  /// Without a word.
  void vanish() { socket_.next_layer().close(); }

  std::string chosen;

 private:
  boost::asio::io_context context_;
  websocket::stream<tcp::socket> socket_;
};

/// Says what it is told, and does what the test wants.
struct Peer : WebSocketHandler {
  void on_open(WebSocketSender& to) override {
    sender = &to;
    to.send("hello");
  }
  void on_text(std::string_view message) override {
    if (message == "fail") throw Error("it failed");
    if (on_message) return on_message(std::string(message));
    sender.load()->send("got " + std::string(message));
  }
  void on_binary() override { sender.load()->send("binary"); }
  void on_drain() override { sender.load()->close(1001, "the server stops"); }
  void on_expiry(const std::string& why) override { sender.load()->send(why); }
  void on_close() override { closed.release(); }

  std::atomic<WebSocketSender*> sender = nullptr;  // of the newest connection
  std::function<void(const std::string&)> on_message;
  std::counting_semaphore<> closed{0};
};

struct Server {
  explicit Server(const HttpLimits& limits = {})
      : server(limits,
               [this](const HttpRequest& request, HttpReply& reply, const std::stop_token&) {
                 if (!request.wants_web_socket) return reply.send({.status = 426});
                 EXPECT_EQ(request.query, "model=m");
                 EXPECT_EQ(request.host, "127.0.0.1");
                 reply.open_web_socket(peer, request.protocols.empty() ? "" : "b");
               }) {}
  int port() { return server.port(); }
  Peer peer;
  LocalServer server;
};

TEST(WebSocket, MessagesGoBothWays) {
  Server server;
  Client client(server.port(), "a, b");
  EXPECT_EQ(client.chosen, "b");
  EXPECT_EQ(client.read(), "hello");
  client.send("one");
  client.send("two", /*is_text=*/false);
  client.send("");
  EXPECT_EQ(client.read(), "got one");
  EXPECT_EQ(client.read(), "binary");
  EXPECT_EQ(client.read(), "got ");
  client.close();
  server.peer.closed.acquire();
}

TEST(WebSocket, ManyMessagesOfSeveralThreadsComeInTheirOrder) {
  Server server;
  server.peer.on_message = [&](const std::string&) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int k = 0; k < 100; ++k) server.peer.sender.load()->send(fmt::format("{} {}", i, k));
      });
    }
    threads.clear();
    server.peer.sender.load()->close(1000, "done");
    server.peer.sender.load()->send("too late");
  };
  Client client(server.port());
  client.read();
  client.send("go");
  std::vector<int> next(4, 0);
  for (int count = 0; count < 400; ++count) {
    const std::string message = client.read();
    const auto thread = static_cast<size_t>(message.at(0) - '0');
    EXPECT_EQ(message.substr(2), std::to_string(next.at(thread)++));
  }
  EXPECT_EQ(client.read(), "closed 1000");
  server.peer.closed.acquire();
}

TEST(WebSocket, WhatIsTooLargeOrIllFormedEndsIt) {
  HttpLimits limits;
  limits.message_bytes = 100;
  Server server(limits);
  Client large(server.port()), ill_formed(server.port());
  large.read();
  large.send(std::string(101, 'a'));
  EXPECT_EQ(large.read(), "closed 1009");
  ill_formed.read();
  ill_formed.send("\xff\xff");
  EXPECT_EQ(ill_formed.read(), "closed 1007");
  server.peer.closed.acquire();
  server.peer.closed.acquire();
}

TEST(WebSocket, AClientThatReadsNothingIsCutOff) {
  HttpLimits limits;
  limits.queue_bytes = 1 << 20;
  Server server(limits);
  server.peer.on_message = [&](const std::string&) {
    for (int i = 0; i < 1000; ++i) server.peer.sender.load()->send(std::string(1 << 16, 'a'));
  };
  Client client(server.port());
  client.read();
  client.send("go");
  server.peer.closed.acquire();
}

TEST(WebSocket, AMessageThatIsNotTakenInTimeEndsIt) {
  HttpLimits limits;
  limits.send_seconds = 0.05;
  Server server(limits);
  server.peer.on_message = [&](const std::string&) {
    server.peer.sender.load()->send(std::string(15 << 20, 'a'));  // more than sockets hold
  };
  Client client(server.port());
  client.read();
  client.send("go");
  server.peer.closed.acquire();
}

TEST(WebSocket, TimesAreLimited) {
  HttpLimits limits;
  limits.silence_seconds = 0.05;
  Server silent(limits);
  Client client(silent.port());
  EXPECT_EQ(client.read(), "hello");
  EXPECT_EQ(client.read(), "nothing came for too long");
  EXPECT_EQ(client.read(), "closed 1001");
  silent.peer.closed.acquire();

  limits = {};
  limits.session_seconds = 0.05;
  Server brief(limits);
  Client other(brief.port());
  other.read();
  EXPECT_EQ(other.read(), "it has lasted long enough");
  EXPECT_EQ(other.read(), "closed 1001");
}

TEST(WebSocket, AClientThatVanishesIsNoticed) {
  Server server;
  Client client(server.port());
  client.read();
  client.vanish();
  server.peer.closed.acquire();
}

TEST(WebSocket, AStopIsSaid) {
  Server server;
  Client client(server.port());
  client.read();
  server.server.request_stop();
  EXPECT_EQ(client.read(), "closed 1001");
  server.peer.closed.acquire();
}

TEST(WebSocket, WhoDoesNotEndAfterAStopIsCutOff) {
  HttpLimits limits;
  limits.grace_seconds = 0.05;
  struct Stubborn : Peer {
    void on_drain() override {}
  } peer;
  LocalServer server(limits, [&](const HttpRequest&, HttpReply& reply, const std::stop_token&) {
    reply.open_web_socket(peer, "");
  });
  Client client(server.port());
  client.read();
  server.stop();
  EXPECT_EQ(client.read(), "lost");
  peer.closed.acquire();
}

TEST(WebSocket, AFailureEndsOneConnection) {
  Server server;
  Client client(server.port());
  client.read();
  client.send("fail");
  EXPECT_EQ(client.read(), "lost");
  server.peer.closed.acquire();
  EXPECT_EQ(Client(server.port()).read(), "hello");
}

}  // namespace
}  // namespace predgen::serve
