#include "hear/web_socket_url.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

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

}  // namespace
}  // namespace predgen
