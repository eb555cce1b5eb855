#pragma once

#include <string>

namespace predgen {

/// ws://HOST[:PORT][/PATH]
struct WebSocketUrl {
  std::string host;  // a name or an address, without the brackets of IPv6
  std::string port;
  std::string path;

  /// HOST:PORT as HTTP wants it.
  std::string authority() const;
};

/// UserError says what a WebSocket's address looks like.
WebSocketUrl parse_web_socket_url(const std::string& url);

}  // namespace predgen
