#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <utility>

#include "core/clock.h"

namespace predgen::serve {

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
