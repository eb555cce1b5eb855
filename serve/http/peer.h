#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace predgen::serve {

/// The address at the other end; of IPv6, where everyone has as many as it likes, the network (the
/// first 64 bits). Empty: there is nobody.
std::string peer_of(const boost::asio::ip::tcp::socket& socket);

}  // namespace predgen::serve
