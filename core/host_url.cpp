#include "core/host_url.h"

#include <fmt/format.h>

#include <cstdlib>
#include <regex>

namespace predgen {

std::string HostUrl::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::optional<HostUrl> parse_host_url(const std::string& url, std::string_view scheme,
                                      std::string_view path) {
  const std::regex form(fmt::format(
      R"({}://(?:\[([0-9a-fA-F:.]+)\]|([^\s/:@?#\[\]]+))(?::([0-9]{{1,5}}))?({})?)", scheme, path));
  std::smatch parts;
  if (url.size() >= 1000 || !std::regex_match(url, parts, form)) return std::nullopt;
  const std::string port = parts[3].matched ? parts[3].str() : "80";
  const int number = std::atoi(port.c_str());
  if (number < 1 || number > 65535) return std::nullopt;
  std::string target = parts[4].str();
  if (!target.starts_with('/')) target.insert(0, "/");
  return HostUrl{.host = parts[parts[1].matched ? 1 : 2].str(), .port = port, .path = target};
}

}  // namespace predgen
