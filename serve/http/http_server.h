#pragma once

#include <stop_token>
#include <string>

#include "serve/http/http.h"
#include "serve/http/tcp_server.h"
#include "serve/serve_config.h"

namespace predgen::serve {

/// HTTP/1.1 with a thread for each connection. Requests that break its rules or limits are answered
/// here, with errors as ApiError has them.
class HttpServer {
 public:
  /// Listens from now on. UserError if `host` is no address of this machine, or the port is taken.
  HttpServer(const std::string& host, int port, const HttpLimits& limits, HttpHandler handler,
             BeginUpload begin_upload = {});

  /// The port that it listens at, even if 0 was asked for.
  int port() const { return server_.port(); }
  /// Answers until `stop`. Answers in progress may then take up to limits.grace_seconds before they
  /// are broken off; requests that arrive meanwhile are `is_late`.
  void run(const std::stop_token& stop) { server_.run(stop); }

 private:
  const HttpLimits limits_;
  const HttpHandler handler_;
  const BeginUpload begin_upload_;
  TcpServer server_;  // last: its connections use them
};

}  // namespace predgen::serve
