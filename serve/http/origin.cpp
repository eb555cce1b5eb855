#include "serve/http/origin.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <string>

namespace predgen::serve {

bool is_same_origin(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos || host.empty()) return false;
  const std::string_view name = origin.substr(0, scheme);
  if (name != "http" && name != "https") return false;
  return std::ranges::equal(origin.substr(scheme + 3), host, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

bool is_own_host(std::string_view host) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(host), error);
  return !error || host.find('.') == std::string_view::npos;
}

}  // namespace predgen::serve
