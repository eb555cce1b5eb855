#include "hear/sherpa_recogniser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <cstring>
#include <functional>
#include <semaphore>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/told_lines.h"

namespace predgen {
namespace {

void expect_parts(const std::string& url, const std::string& host, const std::string& port,
                  const std::string& path, const std::string& authority) {
  const WebSocketUrl parts = parse_web_socket_url(url);
  EXPECT_EQ(parts.host, host) << url;
  EXPECT_EQ(parts.port, port) << url;
  EXPECT_EQ(parts.path, path) << url;
  EXPECT_EQ(parts.authority(), authority) << url;
}

TEST(WebSocketUrl, HasHostPortAndPath) {
  expect_parts("ws://127.0.0.1:6006", "127.0.0.1", "6006", "/", "127.0.0.1:6006");
  expect_parts("ws://asr.home/v1?a=b", "asr.home", "80", "/v1?a=b", "asr.home:80");
  expect_parts("ws://[::1]:6006/", "::1", "6006", "/", "[::1]:6006");
  expect_parts("ws://[fe80::1]", "fe80::1", "80", "/", "[fe80::1]:80");
}

TEST(WebSocketUrl, OthersAreRefused) {
  for (const char* url : {"127.0.0.1:6006", "http://a:1", "ws://", "ws://:80", "ws://a:",
                          "ws://a:0", "ws://a:65536", "ws://a:b", "ws://::1:80", "ws://[::1",
                          "ws://[::1]x", "ws://me@a", "ws://a b", "ws://a/b c", "ws://a:1 "}) {
    expect_user_error([&] { parse_web_socket_url(url); }, {url, "ws://HOST:PORT"});
  }
  expect_user_error([] { parse_web_socket_url("wss://a:1"); }, {"wss://a:1", "proxy"});
}

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using testing::ElementsAre;
using testing::StartsWith;

using Socket = websocket::stream<tcp::socket>;

std::string read(Socket& socket) {
  boost::beast::flat_buffer buffer;
  socket.read(buffer);
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

void write(Socket& socket, const std::string& text) {
  socket.text(true);
  socket.write(asio::buffer(text));
}

/// Does with its connections what the tests say, one after the other.
struct Server {
  using Script = std::function<void(Socket&)>;
  explicit Server(const std::vector<Script>& scripts, bool is_rude = false)
      : thread([this, scripts, is_rude] {
          for (const Script& script : scripts) {
            boost::system::error_code ended;
            try {
              Socket socket(acceptor.accept());
              if (!is_rude) socket.accept();
              script(socket);
              boost::beast::flat_buffer rest;
              while (!ended) socket.read(rest, ended);
            } catch (const boost::system::system_error&) {  // the client has cut it
            }
          }
        }) {}
  ~Server() { ::shutdown(acceptor.native_handle(), SHUT_RDWR); }
  WebSocketUrl url() const {
    return {"127.0.0.1", std::to_string(acceptor.local_endpoint().port()), "/"};
  }
  asio::io_context context;
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0)};
  std::jthread thread;
};

struct SherpaLog : RecogniserHandler, ToldLines {
  void on_segment(int64_t utterance, const RecognisedSegment& segment) override {
    add(std::to_string(utterance) + " " + segment.text);
  }
  void on_end(int64_t utterance) override { add(std::to_string(utterance) + " ends"); }
  void on_failure(const std::string& why) override { add(why); }
};

TEST(SherpaRecogniser, AnUtteranceIsAConnection) {
  std::vector<float> heard(3);
  const auto answer = [](Socket& socket, const std::string& text) {
    write(socket, R"({"text": ")" + text + R"("})");
    if (read(socket) == "Done") write(socket, "Done!");
  };
  Server server({[&](Socket& socket) {
                   const std::string bytes = read(socket);
                   ASSERT_EQ(bytes.size(), sizeof(float) * heard.size());
                   EXPECT_TRUE(socket.got_binary());
                   std::memcpy(heard.data(), bytes.data(), bytes.size());
                   answer(socket, "one");
                 },
                 [&](Socket& socket) {
                   read(socket);
                   answer(socket, "two");
                 }});
  SherpaLog log;
  SherpaRecogniser recogniser(server.url(), {}, log);
  EXPECT_TRUE(recogniser.add(7, {0.25f, -0.5f, 1}));
  recogniser.finish(7);
  EXPECT_TRUE(recogniser.add(8, {1}));  // waits for the end of the first
  recogniser.finish(8);
  EXPECT_THAT(log.take(4), ElementsAre("7 one", "7 ends", "8 two", "8 ends"));
  EXPECT_THAT(heard, ElementsAre(0.25f, -0.5f, 1));
}

TEST(SherpaRecogniser, WhatIsDroppedIsNotWaitedFor) {
  std::binary_semaphore is_heard(0);
  Server server({[&](Socket& socket) {
                   read(socket);
                   is_heard.release();
                 },  // and nothing more, until it is cut
                 [](Socket& socket) {
                   read(socket);
                   write(socket, R"({"text": "two"})");
                 }});
  SherpaLog log;
  SherpaRecogniser recogniser(server.url(), {}, log);
  recogniser.add(0, {1});
  recogniser.finish(0);
  recogniser.add(1, {1});
  ASSERT_TRUE(is_heard.try_acquire_for(std::chrono::seconds(20)));
  recogniser.drop(0);
  EXPECT_THAT(log.take(1), ElementsAre("1 two"));
}

TEST(SherpaRecogniser, SilenceHasAnEnd) {
  Server server({[](Socket& socket) { read(socket); }});
  SherpaLog log;
  SherpaRecogniser recogniser(server.url(), {.answer_seconds = 0.05}, log);
  recogniser.add(0, {1});
  recogniser.finish(0);
  EXPECT_THAT(log.take(1), ElementsAre("does not answer"));
}

TEST(SherpaRecogniser, SomethingElseAtThePortIsNoRecogniser) {
  Server server({[](Socket& socket) {
                  std::array<char, 64> bytes{};
                  while (true) socket.next_layer().read_some(asio::buffer(bytes));
                }},
                /*is_rude=*/true);
  SherpaLog log;
  SherpaRecogniser recogniser(server.url(), {.connect_seconds = 0.05}, log);
  recogniser.add(0, {1});
  EXPECT_THAT(log.take(1), ElementsAre("does not answer"));
}

TEST(SherpaRecogniser, WaitingSoundIsBounded) {
  Server server({[](Socket& socket) { read(socket); }});
  SherpaLog log;
  SherpaRecogniser recogniser(server.url(), {.waiting_seconds = 0.5}, log);
  EXPECT_FALSE(recogniser.add(0, std::vector<float>(8001)));
  EXPECT_TRUE(recogniser.add(0, std::vector<float>(7999)));
}

TEST(SherpaRecogniser, AnEndThatNobodyAskedForIsAFailure) {
  Server server({[](Socket& socket) {
                   read(socket);
                   write(socket, "Done!");
                 },
                 [](Socket& socket) {
                   read(socket);
                   socket.close(websocket::close_code::going_away);
                 },
                 [](Socket& socket) {
                   read(socket);
                   socket.binary(true);
                   socket.write(asio::buffer("{}", 2));
                 }});
  SherpaLog log;
  SherpaRecogniser recogniser(server.url(), {}, log);
  for (int64_t utterance = 0; utterance < 3; ++utterance) {
    recogniser.add(utterance, {1});
    log.take(static_cast<size_t>(utterance) + 1);
  }
  EXPECT_THAT(log.take(3), ElementsAre("has ended before the sound did",
                                       StartsWith("has gone away: "), "has sent no text"));
}

TEST(SherpaRecogniser, WhatIsNoResultIsAFailureThatQuotesNothing) {
  const std::vector<std::string> messages{"secret", "[]", R"({"text": "secret")",
                                          R"({"text": 5, "x": "secret"})",
                                          std::string(100'000, '[')};
  for (const std::string& message : messages) {
    Server server({[&](Socket& socket) {
      read(socket);
      write(socket, message);
    }});
    SherpaLog log;
    SherpaRecogniser recogniser(server.url(), {}, log);
    recogniser.add(0, {1});
    const std::string why = log.take(1).at(0);
    EXPECT_THAT(why, StartsWith("has sent what is no result: "));
    EXPECT_EQ(why.find("secret"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace predgen
