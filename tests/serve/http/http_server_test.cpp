#include "serve/http/http_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <semaphore>
#include <thread>

#include "serve/api_error.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/waiting.h"
#include "tests/serve/http/echo_server.h"
#include "tests/serve/http/socket.h"

namespace predgen::serve {
namespace {

/// The only socket at a port that is connected.
int peer_of(int port) {
  for (const int socket : sockets_at(port)) {
    sockaddr_in other{};
    socklen_t size = sizeof other;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &size) == 0) return socket;
  }
  return -1;
}

TEST(HttpConnection, AnswersRequestsOfOneConnection) {
  EchoServer server;
  Socket client(server.port());
  client.send(kGet + "Authorization: Bearer k\r\nOrigin: http://o\r\n\r\n");
  const std::string first = client.read_until("GET /path ");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\n")) << first;
  EXPECT_NE(first.find("X-Seen: Bearer k|http://o\r\n"), std::string::npos) << first;
  client.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
  const std::string second = client.read_all();
  EXPECT_TRUE(second.ends_with("POST /p body")) << second;
}

TEST(HttpConnection, TakesABodyInChunksAndOneThatWaitsToBeAskedFor) {
  EchoServer server;
  Socket client(server.port());
  client.send(
      "POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n");
  EXPECT_TRUE(client.read_until("abcd").ends_with("POST /p abcd"));
  client.send("POST /q HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_TRUE(client.read_until("POST /q hi").ends_with("POST /q hi"));
}

TEST(HttpConnection, RefusesWhatBreaksItsRules) {
  HttpLimits limits;
  limits.header_bytes = 512;
  limits.body_bytes = 100;
  EchoServer server(limits);
  const auto answer = [&](const std::string& bytes) {
    Socket client(server.port());
    client.send(bytes);
    return client.read_all();
  };
  EXPECT_TRUE(answer("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(answer("GET / HTTP/9.9\r\n\r\n").starts_with("HTTP/1.1 400"));
  const std::string header = answer("GET / HTTP/1.1\r\nX: " + std::string(600, 'a') + "\r\n\r\n");
  EXPECT_TRUE(header.starts_with("HTTP/1.1 431")) << header;
  EXPECT_NE(header.find("header_too_large"), std::string::npos) << header;
  const std::string body =
      answer("POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + std::string(200000, 'a'));
  EXPECT_TRUE(body.starts_with("HTTP/1.1 413")) << body.substr(0, 200);
  EXPECT_NE(body.find("body_too_large"), std::string::npos) << body;
  const std::string chunks = answer("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" +
                                    std::string(255, 'a') + "\r\n0\r\n\r\n");
  EXPECT_TRUE(chunks.starts_with("HTTP/1.1 413")) << chunks;
}

TEST(HttpConnection, TheHeadOfARequestDecidesHowMuchItMayUpload) {
  HttpLimits limits;
  limits.body_bytes = 100;
  limits.upload_bytes = 1000;
  const auto held = std::make_shared<const int>(7);
  LocalServer server(
      limits,
      [&](const HttpRequest& request, HttpReply& reply, const std::stop_token&) {
        reply.send({.body = fmt::format("{} {}", request.body.size(), request.upload == held)});
      },
      [&](const HttpRequest& head) -> std::shared_ptr<const void> {
        if (head.path == "/refused") throw ApiError({.status = 401, .code = "no_key"}, "no");
        return head.path == "/upload" ? held : nullptr;
      });
  const auto answer = [&](const std::string& path, const std::string& type, size_t size) {
    Socket client(server.port());
    client.send(
        fmt::format("POST {} HTTP/1.1\r\nContent-Type: {}\r\nConnection: close\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    path, type, size, std::string(size, 'a')));
    return client.read_all();
  };
  const std::string form = "multipart/form-data; boundary=x";
  EXPECT_TRUE(answer("/upload", form, 900).ends_with("900 true"));
  EXPECT_TRUE(answer("/upload", form, 1100).starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(answer("/upload", "application/json", 900).starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(answer("/other", form, 900).starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(answer("/refused", form, 10).starts_with("HTTP/1.1 401"));
}

TEST(HttpConnection, AHeadHasTheAnswersLengthButNotItsBody) {
  EchoServer server;
  Socket client(server.port());
  client.send("HEAD /path HTTP/1.1\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_NE(answer.find("Content-Length: 11\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST(HttpConnection, EventsMayHaveTypesAndAnswersMoreHeaders) {
  EchoServer server({}, [](const HttpRequest& request, HttpReply& reply, const std::stop_token&) {
    reply.add_header("X-More", request.path);
    if (request.path == "/whole") return reply.send({});
    reply.send_event("one", "first");
  });
  Socket client(server.port());
  client.send("GET /stream HTTP/1.1\r\n\r\n");
  const std::string events = client.read_until("0\r\n\r\n");
  EXPECT_NE(events.find("X-More: /stream\r\n"), std::string::npos) << events;
  EXPECT_NE(events.find("event: first\ndata: one\n\n"), std::string::npos) << events;
  client.send("GET /whole HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string whole = client.read_all();
  EXPECT_NE(whole.find("X-More: /whole\r\n"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("/stream"), std::string::npos) << "those of the request before are gone";
}

TEST(HttpConnection, WaitsForNobodyForever) {
  HttpLimits limits;
  limits.header_seconds = limits.idle_seconds = limits.body_seconds = 0.05;
  EchoServer server(limits);
  Socket silent(server.port()), slow(server.port());
  slow.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(slow.read_all(), "");
  limits.idle_seconds = 60;
  EchoServer patient(limits);
  Socket new_here(patient.port());  // does not count as one that has asked before
  EXPECT_EQ(new_here.read_all(), "");
}

TEST(HttpConnection, AReaderThatIsTooSlowIsGone) {
  HttpLimits limits;
  limits.send_seconds = 0.05;
  std::binary_semaphore seen(0);
  EchoServer server(limits, [&](const HttpRequest&, HttpReply& reply, const std::stop_token&) {
    const std::string data(1 << 14, 'a');
    bool was_busy = false;
    while (!reply.is_gone()) {
      was_busy |= !reply.offer_event(data);
      reply.flush();
    }
    EXPECT_TRUE(was_busy);
    seen.release();
  });
  Socket client(server.port());
  client.send(kGet + "\r\n");
  seen.acquire();
}

TEST(HttpConnection, OffersWithoutWaiting) {
  HttpLimits limits;
  limits.send_seconds = 100;
  const std::string large(16 << 20, 'a');  // more than sockets hold
  std::binary_semaphore offered(0);
  EchoServer server(limits, [&](const HttpRequest&, HttpReply& reply, const std::stop_token&) {
    EXPECT_TRUE(reply.offer_event("one"));
    EXPECT_FALSE(reply.offer_event(large));
    EXPECT_FALSE(reply.offer_event("two"));
    offered.release();
    reply.flush();
    reply.send_event("three");
  });
  Socket client(server.port());
  client.send(kGet + "Connection: close\r\n\r\n");
  offered.acquire();  // nobody reads until then
  const std::string events = client.read_all();
  const size_t end = events.find("aa\n\n\r\n");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(events.substr(end),
            "aa\n\n\r\nb\r\ndata: two\n\n\r\nd\r\ndata: three\n\n\r\n0\r\n\r\n");
}

TEST(HttpConnection, StreamsEventsAndSeesThatTheClientLeaves) {
  std::binary_semaphore go_on(0), left(0);
  EchoServer server({}, [&](const HttpRequest& request, HttpReply& reply, const std::stop_token&) {
    reply.send_event("one");
    if (request.path == "/leave") {
      go_on.acquire();
      while (!reply.is_gone()) std::this_thread::yield();
      left.release();
    }
    reply.send_event("two");
  });
  Socket client(server.port());
  client.send(kGet + "\r\n");
  const std::string events = client.read_until("0\r\n\r\n");
  EXPECT_NE(events.find("Content-Type: text/event-stream\r\n"), std::string::npos) << events;
  EXPECT_TRUE(events.ends_with("b\r\ndata: one\n\n\r\nb\r\ndata: two\n\n\r\n0\r\n\r\n")) << events;
  client.send("GET / HTTP/1.0\r\n\r\n");  // which knows no chunks
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\ndata: one\n\ndata: two\n\n"));

  Socket leaving(server.port());
  leaving.send("GET /leave HTTP/1.1\r\n\r\n");
  leaving.read_until("one");
  leaving.close();
  go_on.release();
  left.acquire();
}

TEST(HttpConnection, WhoSendsNoMoreGetsHisAnswer) {
  std::atomic<int> port = 0;
  EchoServer server({}, [&](const HttpRequest&, HttpReply& reply, const std::stop_token&) {
    pollfd end{.fd = peer_of(port), .events = POLLRDHUP, .revents = 0};
    EXPECT_EQ(::poll(&end, 1, /*timeout=*/10'000), 1);
    EXPECT_FALSE(reply.is_gone());
    reply.send({.body = "still here"});
  });
  port = server.port();
  Socket client(port);
  client.send(kGet + "\r\n");
  client.end_sending();
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("still here"));
}

TEST(HttpConnection, WhoLeavesIsGoneAlsoWhereNothingIsSent) {
  for (const bool has_events : {false, true}) {
    std::atomic<int> port = 0;
    std::binary_semaphore seen(0);
    EchoServer server({}, [&](const HttpRequest&, HttpReply& reply, const std::stop_token&) {
      if (has_events) reply.send_event("one");
      pollfd end{.fd = peer_of(port), .events = POLLRDHUP, .revents = 0};
      EXPECT_EQ(::poll(&end, 1, /*timeout=*/10'000), 1);
      reply.is_gone();
      end.events = 0;  // an error, for example
      EXPECT_EQ(::poll(&end, 1, /*timeout=*/1'000), 1);
      EXPECT_TRUE(reply.is_gone());
      seen.release();
    });
    port = server.port();
    Socket client(port);
    client.send(kGet + "\r\n");
    if (has_events) client.read_until("one\n\n\r\n");
    client.close();
    seen.acquire();
  }
}

TEST(HttpConnection, WhoSendsNoMoreGetsItsEvents) {
  std::atomic<int> port = 0;
  EchoServer server({}, [&](const HttpRequest&, HttpReply& reply, const std::stop_token&) {
    reply.send_event("one");
    pollfd end{.fd = peer_of(port), .events = POLLRDHUP, .revents = 0};
    EXPECT_EQ(::poll(&end, 1, /*timeout=*/10'000), 1);
    EXPECT_FALSE(reply.is_gone());
    reply.send_event("two");
  });
  port = server.port();
  Socket client(port);
  client.send(kGet + "\r\n");
  client.end_sending();
  const std::string answer = client.read_all();
  const size_t comment = answer.find("3\r\n:\n\n\r\n");  // a chunk of its own
  EXPECT_LT(comment, answer.find("data: two")) << answer;
}

TEST(HttpServer, ItsSocketsAreNotForProgramsThatItStarts) {
  EchoServer server;
  Socket client(server.port());
  client.send(kGet + "\r\n");
  client.read_until("\r\n\r\n");
  int num_sockets = 0;
  for (const int file : sockets_at(server.port())) {
    EXPECT_TRUE(::fcntl(file, F_GETFD) & FD_CLOEXEC) << file;
    ++num_sockets;
  }
  EXPECT_EQ(num_sockets, 2);  // that it listens at, and the client's
}

TEST(HttpServer, TooManyConnectionsAreTurnedAway) {
  HttpLimits limits;
  limits.connections = 1;
  EchoServer server(limits);
  Socket first(server.port());
  first.send(kGet + "\r\n");
  first.read_until("GET /path ");
  Socket one_more(server.port());
  one_more.send(kGet + "\r\n");
  EXPECT_TRUE(one_more.read_all().starts_with("HTTP/1.1 503"));
  first.send(kGet + "Connection: close\r\n\r\n");
  first.read_all();
  // Its thread may not have ended yet.
  std::string answer;
  do {
    Socket second(server.port());
    second.send(kGet + "\r\n");
    answer = second.read_until("GET /path ");
  } while (answer.starts_with("HTTP/1.1 503") || answer.empty());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, OneAddressShutsNobodyElseOut) {
  HttpLimits limits;
  limits.connections = 3;
  limits.connections_per_address = 2;
  limits.header_seconds = 60;
  EchoServer server(limits);
  const auto asked = [&](Socket client, const std::string& path) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return client.read_all();
  };
  std::list<Socket> silent;
  for (int i = 0; i < 30; ++i) silent.emplace_back(server.port());
  const std::string refused = asked(Socket(server.port()), "/p");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503"));
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_TRUE(asked(Socket(server.port()), "/health?now").ends_with("GET /health "));
  Socket other(server.port(), 0, /*from=*/2);
  other.send(kGet + "\r\n");
  EXPECT_TRUE(other.read_until("GET /path ").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(asked(Socket(server.port(), 0, /*from=*/3), "/p").starts_with("HTTP/1.1 503"));
  for (const uint32_t from : {1u, 2u, 3u}) {
    EXPECT_TRUE(asked(Socket(server.port(), 0, from), "/health").ends_with("GET /health ")) << from;
  }
}

TEST(HttpServer, WhoIsTurnedAwayIsToldHoweverMuchHeSends) {
  HttpLimits limits;
  limits.connections = 1;
  EchoServer server(limits);
  Socket first(server.port());
  first.send(kGet + "\r\n");
  first.read_until("GET /path ");
  for (int i = 0; i < 50; ++i) {
    Socket second(server.port());
    second.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    EXPECT_TRUE(second.send(std::string(100000, 'x')));
    EXPECT_TRUE(second.read_all().starts_with("HTTP/1.1 503"));
  }
}

TEST(HttpServer, FilesThatRunOutCostConnectionsOnly) {
  EchoServer server;
  std::list<Socket> many;
  for (int i = 0; i < 12; ++i) many.emplace_back(server.port());
  many.back().send(kGet + "\r\n");
  many.back().read_until("\r\n\r\n");  // so all of them were let in
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const auto num_files = std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                       std::filesystem::directory_iterator());
  // One for the client, and three that the server may not have taken yet for its next connection.
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(num_files) + 3;
  ::setrlimit(RLIMIT_NOFILE, &few);
  Socket client(server.port());
  client.send(kGet + "Connection: close\r\n\r\n");
  take(std::chrono::milliseconds(300));  // in which the server finds no file
  many.clear();
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 200"));
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(HttpServer, ThreadsThatRunOutCostConnectionsOnly) {
  EchoServer server;
  pthread_attr_t before, huge;
  ::pthread_getattr_default_np(&before);
  ::pthread_getattr_default_np(&huge);
  ::pthread_attr_setstacksize(&huge, size_t{1} << 50);
  ::pthread_setattr_default_np(&huge);
  EXPECT_EQ(Socket(server.port()).read_all(), "");
  ::pthread_setattr_default_np(&before);
  Socket client(server.port());
  client.send(kGet + "Connection: close\r\n\r\n");
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, AStopLetsAnswersEndAndTellsLateClients) {
  std::binary_semaphore begun(0), end(0);
  EchoServer server({}, [&](const HttpRequest& request, HttpReply& reply, const std::stop_token&) {
    if (request.is_late) return reply.send({.body = "late"});
    begun.release();
    end.acquire();
    reply.send({.body = "done"});
  });
  Socket idle(server.port()), client(server.port());
  client.send(kGet + "\r\n");
  begun.acquire();
  server.request_stop();
  EXPECT_EQ(idle.read_all(), "");
  Socket silent(server.port());  // is not waited for
  for (int i = 0; i < 3; ++i) {
    Socket late(server.port());
    late.send(kGet + "\r\n");
    EXPECT_TRUE(late.read_all().ends_with("late"));
  }
  end.release();
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.ends_with("done")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  server.stop();
}

TEST(HttpServer, AfterTheGraceAnswersAreBrokenOff) {
  HttpLimits limits;
  limits.grace_seconds = 0.05;
  std::binary_semaphore begun(0);
  EchoServer server(limits, [&](const HttpRequest&, HttpReply& reply, const std::stop_token& stop) {
    reply.send_event("one");
    begun.release();
    while (!stop.stop_requested()) std::this_thread::yield();
    throw Interrupted();
  });
  Socket client(server.port());
  client.send(kGet + "\r\n");
  begun.acquire();
  server.stop();
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.ends_with("one\n\n\r\n")) << answer;  // the last chunk is missing
}

TEST(HttpServer, AnAddressThatIsNotToBeHadIsNamed) {
  EchoServer server;
  expect_user_error([&] { HttpServer("127.0.0.1", server.port(), {}, echo()); },
                    {std::to_string(server.port())});
  expect_user_error([&] { TcpServer::check_free("127.0.0.1", server.port()); },
                    {std::to_string(server.port())});
  TcpServer::check_free("127.0.0.1", 0);
  expect_user_error([&] { HttpServer("example.org", 0, {}, echo()); }, {"example.org"});
  expect_user_error([&] { HttpServer("192.0.2.1", 0, {}, echo()); }, {"192.0.2.1"});
}

}  // namespace
}  // namespace predgen::serve
