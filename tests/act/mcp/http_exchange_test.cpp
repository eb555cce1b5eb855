#include "act/mcp/http_exchange.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <future>
#include <thread>

#include "core/stop.h"
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

/// A server of one connection, which has read a whole request when `serve` gets it.
class RawServer {
 public:
  explicit RawServer(std::function<void(int connection)> serve)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url = parse_http_url(fmt::format("http://127.0.0.1:{}/mcp", ntohs(address.sin_port)));
    thread_ = std::jthread([this, serve = std::move(serve)] {
      const int connection = ::accept(listener_, nullptr, nullptr);
      std::string got;
      char byte = 0;
      while (!got.ends_with("{}") && ::recv(connection, &byte, 1, 0) == 1) got += byte;
      serve(connection);
      ::close(connection);
    });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);  // ends a wait for a connection
    thread_.join();
    ::close(listener_);
  }

  HttpUrl url;

 private:
  const int listener_;
  std::jthread thread_;
};

/// Asks for something, and throws for any status but 200.
void ask(const HttpUrl& url, double seconds = 20, const std::stop_token& stop = {}) {
  HttpExchange exchange(url, in_seconds(seconds), stop);
  const HttpExchange::Head head = exchange.send("POST", {}, "{}");
  if (head.status != 200) throw_refusal(head.status);
}

std::function<void(int)> answer_with(const std::string& status) {
  return [head = "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n"](int connection) {
    ::send(connection, head.data(), head.size(), MSG_NOSIGNAL);
  };
}

TEST(HttpExchange, KnowsWhatIsSurelyNotDone) {
  for (const char* status : {"401 Unauthorized", "404 Not Found", "429 Too Many Requests"}) {
    RawServer server(answer_with(status));
    EXPECT_THROW(ask(server.url), NotDone) << status;
  }
  EXPECT_THROW(ask(parse_http_url("http://127.0.0.1:1/mcp")), NotDone) << "nobody is there";
  const std::vector<std::function<void(int)>> unclear{answer_with("500 Internal Server Error"),
                                                      [](int) {}};
  for (const auto& serve : unclear) {
    RawServer server(serve);
    try {
      ask(server.url);
      ADD_FAILURE();
    } catch (const NotDone&) {
      ADD_FAILURE() << "it may be done";
    } catch (const ServerError&) {
    }
  }
}

/// What has not left this machine yet is dropped, not sent once the network is back: the connection
/// is reset, not closed in order.
TEST(HttpExchange, WhoGivesUpTakesBackWhatHasNotLeft) {
  for (const bool is_stopped : {false, true}) {
    std::stop_source stop;
    std::promise<int> end;
    RawServer server([&](int connection) {
      if (is_stopped) stop.request_stop();
      char byte = 0;
      const ssize_t count = ::recv(connection, &byte, 1, 0);
      end.set_value(count < 0 ? errno : 0);
    });
    if (is_stopped) {
      EXPECT_THROW(ask(server.url, 20, stop.get_token()), Interrupted);
    } else {
      EXPECT_THROW(ask(server.url, 0.2), ServerError);
    }
    EXPECT_EQ(end.get_future().get(), ECONNRESET);
  }
}

}  // namespace
}  // namespace predgen::act
