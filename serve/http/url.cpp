#include "serve/http/url.h"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "core/text.h"

namespace predgen::serve {

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    int value = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    plain += is_code ? static_cast<char>(value) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

std::string plain_path(std::string_view path) {
  std::string plain;
  for (const char c : percent_decoded(path)) {
    if (c != '/' || !plain.ends_with('/')) plain += c;
  }
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

namespace {

/// Nobody can register a name under these: RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of
/// .internal; .lan is what many routers use, and is not delegated.
constexpr std::array<std::string_view, 5> kPrivateDomains{".localhost", ".local", ".home.arpa",
                                                          ".internal", ".lan"};

}  // namespace

bool is_same_name(std::string_view one, std::string_view other) {
  return lower_ascii(one) == lower_ascii(other);
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos || host.empty()) return false;
  const std::string_view name = origin.substr(0, scheme);
  if (name != "http" && name != "https") return false;
  return is_same_name(origin.substr(scheme + 3), host);
}

std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

bool is_own_host(std::string_view host) {
  const std::string name = host_name(host);
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  if (!error || name.find('.') == std::string::npos) return true;
  return std::ranges::any_of(kPrivateDomains, [&](std::string_view domain) {
    return name.size() > domain.size() &&
           is_same_name(std::string_view(name).substr(name.size() - domain.size()), domain);
  });
}

}  // namespace predgen::serve
