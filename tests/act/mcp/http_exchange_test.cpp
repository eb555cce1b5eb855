#include "act/mcp/http_exchange.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen::act {
namespace {

TEST(HttpUrl, HasItsParts) {
  const HttpUrl url = parse_http_url("http://[::1]:8000/mcp?x=1");
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, "8000");
  EXPECT_EQ(url.path, "/mcp?x=1");
  EXPECT_EQ(url.authority(), "[::1]:8000");
  EXPECT_EQ(parse_http_url("http://home").path, "/");
  EXPECT_EQ(parse_http_url("http://home").authority(), "home:80");
  EXPECT_EQ(parse_http_url("http://home?x").path, "/?x");
}

TEST(HttpUrl, SaysWhatIsNone) {
  expect_user_error([] { parse_http_url("https://x.org/mcp"); }, {"TLS", "http://", "mcp-remote"});
  for (const char* url : {"", "http://", "http://a b/", "http://a:0/", "http://a:99999", "ws://a/",
                          "http://u@a/", "http://a/\r\nx", "http://a/#x y"}) {
    expect_user_error([&] { parse_http_url(url); }, {"http://HOST:PORT/PATH"});
  }
}

}  // namespace
}  // namespace predgen::act
