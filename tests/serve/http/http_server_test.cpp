#include "serve/http/http_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <list>
#include <semaphore>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/waiting.h"
#include "tests/serve/http/echo_server.h"
#include "tests/serve/http/socket.h"

namespace predgen::serve {
namespace {

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
