#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
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

/// A client's connection, served by a thread of its own.
class TcpConnection {
 public:
  virtual ~TcpConnection() = default;

  /// For the acceptor of the connection.
  virtual boost::asio::ip::tcp::socket& socket() = 0;
  /// Serves until the client or an error ends it; after `drain`, until the end of what is under
  /// way; after `stop`, ends at once. A connection that begins after `drain` is late: it is told
  /// so, or shown the state.
  virtual void serve(const std::stop_token& drain, const std::stop_token& stop) = 0;
  /// Called instead if there are too many connections. Takes seconds at most, none after `stop`.
  virtual void refuse_one_more(const std::stop_token& stop) = 0;
};

/// Accepts clients, with a thread for each connection.
class TcpServer {
 public:
  struct Limits {
    int64_t connections = 64;
    int64_t connections_per_address = 64;  // of them; an IPv6 network of 64 bits is one address
    double grace_seconds = 20;             // of what is under way at a stop
    bool takes_late = false;               // accepts connections while it stops
  };
  using MakeConnection = std::function<std::unique_ptr<TcpConnection>()>;

  /// UserError as the constructor's, to find problems before much work is done.
  static void check_free(const std::string& host, int port);
  /// Listens from now on. UserError if `host` is no address of this machine, or the port is taken.
  TcpServer(const std::string& host, int port, Limits limits, MakeConnection make);
  ~TcpServer();

  /// The port that it listens at, even if 0 was asked for.
  int port() const;
  /// Serves until `stop`. Then what is under way may take up to limits.grace_seconds before it is
  /// broken off. If files or threads run out, a client loses its new connection.
  void run(const std::stop_token& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace predgen::serve
