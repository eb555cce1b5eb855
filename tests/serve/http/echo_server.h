#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/serve/http/local_server.h"

namespace predgen::serve {

/// It answers with what it was asked.
inline HttpHandler echo() {
  return [](const HttpRequest& request, HttpReply& reply, const std::stop_token&) {
    reply.send({.body = request.method + " " + request.path + " " + request.body,
                .headers = {{"X-Seen", request.authorization + "|" + request.origin}}});
  };
}

/// Echoes unless it is given something else to do.
struct EchoServer : LocalServer {
  explicit EchoServer(const HttpLimits& limits = {}, HttpHandler handler = echo())
      : LocalServer(limits, std::move(handler)) {}
};

/// Sockets of this process whose own end is at a port.
inline std::vector<int> sockets_at(int port) {
  std::vector<int> sockets;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(file.path().filename());
    sockaddr_in own{};
    socklen_t size = sizeof own;
    const bool is_socket = ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
    if (is_socket && own.sin_family == AF_INET && ntohs(own.sin_port) == port) {
      sockets.push_back(descriptor);
    }
  }
  return sockets;
}

inline const std::string kGet = "GET /path?query=1 HTTP/1.1\r\nHost: x\r\n";

}  // namespace predgen::serve
