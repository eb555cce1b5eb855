#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <utility>

#include "core/clock.h"

namespace predgen::serve {

/// The address at the other end; for IPv6, where a client has as many addresses as it likes, the
/// network (the first 64 bits). Empty: not connected.
std::string peer_of(const boost::asio::ip::tcp::socket& socket);

/// A peer that vanishes without a word, as a satellite whose network is gone, is noticed within
/// half a minute: the connection ends.
void notice_vanishing(boost::asio::ip::tcp::socket& socket);

/// Calls `when_over` after so many seconds, in the thread that runs the timer's context, unless the
/// timer is started again or cancelled before.
inline void start_timer(boost::asio::steady_timer& timer, double seconds,
                        std::function<void()> when_over) {
  timer.expires_after(steady_seconds(seconds));
  timer.async_wait([when_over = std::move(when_over)](const boost::system::error_code& error) {
    if (!error) when_over();
  });
}

}  // namespace predgen::serve
