#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace predgen::serve {

/// The address at the other end; for IPv6, where a client has as many addresses as it likes, the
/// network (the first 64 bits). Empty: not connected.
std::string peer_of(const boost::asio::ip::tcp::socket& socket);

}  // namespace predgen::serve
