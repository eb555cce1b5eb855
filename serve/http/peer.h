#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace predgen::serve {

/// The address at the other end; for IPv6, where a client has as many addresses as it likes, the
/// network (the first 64 bits). Empty: not connected.
std::string peer_of(const boost::asio::ip::tcp::socket& socket);

/// A peer that vanishes without a word, as a satellite whose network is gone, is noticed within
/// half a minute: the connection ends.
void notice_vanishing(boost::asio::ip::tcp::socket& socket);

}  // namespace predgen::serve
