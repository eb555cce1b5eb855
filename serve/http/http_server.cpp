#include "serve/http/http_server.h"

#include <utility>

#include "serve/http/http_connection.h"

namespace predgen::serve {

HttpServer::HttpServer(const std::string& host, int port, const HttpLimits& limits,
                       HttpHandler handler, BeginUpload begin_upload)
    : limits_(limits),
      handler_(std::move(handler)),
      begin_upload_(std::move(begin_upload)),
      server_(
          host, port,
          {.connections = limits.connections,
           .connections_per_address = limits.of_one_address(),
           .grace_seconds = limits.grace_seconds,
           .takes_late = true},
          [this] { return std::make_unique<HttpConnection>(limits_, handler_, begin_upload_); }) {}

}  // namespace predgen::serve
