#pragma once

#include <thread>

#include "serve/http/http_server.h"

namespace predgen::serve {

/// A server at a free port, in a thread of its own.
class LocalServer {
 public:
  LocalServer(const HttpLimits& limits, HttpHandler handler, BeginUpload begin_upload = {})
      : server_("127.0.0.1", 0, limits, std::move(handler), std::move(begin_upload)),
        port_(server_.port()),
        thread_([this] { server_.run(stop_.get_token()); }) {}
  ~LocalServer() { stop(); }

  int port() const { return port_; }
  void stop() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  void request_stop() { stop_.request_stop(); }

 private:
  HttpServer server_;
  const int port_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace predgen::serve
