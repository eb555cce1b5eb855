#include "serve/http/sockets.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace predgen::serve {

namespace ip = boost::asio::ip;

std::string peer_of(const ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const ip::address address = endpoint.address();
  if (address.is_v4()) return address.to_string();
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), uint8_t{0});
  return ip::address_v6(bytes).to_string();
}

void notice_vanishing(ip::tcp::socket& socket) {
  constexpr int kSilence = 10, kBetween = 5, kTries = 3;  // seconds, seconds, packets
  const int handle = socket.native_handle();
  const auto set = [handle](int level, int name, int value) {
    ::setsockopt(handle, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilence);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kBetween);
  set(IPPROTO_TCP, TCP_KEEPCNT, kTries);
}

}  // namespace predgen::serve
