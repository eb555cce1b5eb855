#include "serve/http/request_head.h"

#include <algorithm>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

namespace predgen::serve {

HttpRequest request_head(const HttpMessage& message) {
  namespace http = boost::beast::http;
  const auto plain = [](boost::beast::string_view text) {
    return std::string(text.data(), text.size());
  };
  const auto header = [&](http::field name) { return plain(message[name]); };
  const std::string target = plain(message.target());
  const size_t path_end = std::min(target.find('?'), target.size());
  return {.method = plain(message.method_string()),
          .path = target.substr(0, path_end),
          .authorization = header(http::field::authorization),
          .origin = header(http::field::origin),
          .query = target.substr(std::min(path_end + 1, target.size())),
          .host = header(http::field::host),
          .wants_web_socket = boost::beast::websocket::is_upgrade(message),
          .protocols = header(http::field::sec_websocket_protocol),
          .content_type = header(http::field::content_type),
          .beta = plain(message["OpenAI-Beta"]),
          .wanted_headers = header(http::field::access_control_request_headers)};
}

}  // namespace predgen::serve
