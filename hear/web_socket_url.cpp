#include "hear/web_socket_url.h"

#include <utility>

#include "core/error.h"

namespace predgen {

WebSocketUrl parse_web_socket_url(const std::string& url) {
  if (url.starts_with("wss://")) {
    throw UserError(
        "{}: TLS is not spoken here: put a proxy on this machine in front, and give its ws:// "
        "address",
        url);
  }
  if (auto parsed = parse_host_url(url, "ws", R"(/\S*)")) return *std::move(parsed);
  throw UserError("'{}' is no address of a WebSocket: give ws://HOST:PORT", url);
}

}  // namespace predgen
