#include "hear/web_socket_url.h"

#include <cstdlib>
#include <regex>

#include "core/error.h"

namespace predgen {

std::string WebSocketUrl::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

WebSocketUrl parse_web_socket_url(const std::string& url) {
  if (url.starts_with("wss://")) {
    throw UserError(
        "{}: TLS is not spoken here: put a proxy on this machine in front, and give its ws:// "
        "address",
        url);
  }
  static const std::regex kForm(
      R"(ws://(?:\[([0-9a-fA-F:.]+)\]|([^\s/:@?#\[\]]+))(?::([0-9]{1,5}))?(/\S*)?)");
  std::smatch parts;
  const bool has_form = url.size() < 1000 && std::regex_match(url, parts, kForm);
  const std::string port = has_form && parts[3].matched ? parts[3].str() : "80";
  const int number = std::atoi(port.c_str());
  if (!has_form || number < 1 || number > 65535) {
    throw UserError("'{}' is no address of a WebSocket: give ws://HOST:PORT", url);
  }
  return {.host = parts[parts[1].matched ? 1 : 2].str(),
          .port = port,
          .path = parts[4].matched ? parts[4].str() : "/"};
}

}  // namespace predgen
