#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace predgen {

/// SCHEME://HOST[:PORT][PATH]
struct HostUrl {
  std::string host;  // a name or an address, without the brackets of IPv6
  std::string port;  // 80 if it names none
  std::string path;  // with a slash in front

  /// HOST:PORT as HTTP wants it.
  std::string authority() const;
};

/// `path`: an expression of what may follow the port. nullopt for anything else.
std::optional<HostUrl> parse_host_url(const std::string& url, std::string_view scheme,
                                      std::string_view path);

}  // namespace predgen
