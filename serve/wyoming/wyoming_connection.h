#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/http/send_queue.h"
#include "serve/http/tcp_server.h"
#include "serve/serve_config.h"
#include "serve/wyoming/wyoming_event.h"

namespace predgen::serve {

/// A connection that speaks Wyoming. Used by one thread, but for the sender's part. Every wait has
/// a limit.
class WyomingConnection : public TcpConnection, public WyomingSender {
 public:
  /// Makes what takes the events, when the connection begins. `peer`: the other end's address.
  using MakeReceiver =
      std::function<std::unique_ptr<WyomingReceiver>(WyomingSender& sender, std::string peer)>;

  WyomingConnection(const HttpLimits& limits, MakeReceiver make);

  /// Connects to a server, instead of being accepted. Error if that is not possible, or takes more
  /// than 5 s; Interrupted after `stop`.
  void connect(const std::string& host, int port, const std::stop_token& stop);

  boost::asio::ip::tcp::socket& socket() override { return socket_; }
  void serve(const std::stop_token& drain, const std::stop_token& stop) override;
  void refuse_one_more(const std::stop_token& stop) override;

  void send(const WyomingEvent& event) override;
  void close() override;
  bool wait_for_room(const std::stop_token& stop) override;

 private:
  using Timer = boost::asio::steady_timer;
  void read();
  void take(std::string_view bytes);
  /// The client is told, and left.
  void fail(const std::string& text, const std::string& code);
  void write(const std::string& bytes);
  /// All is sent: gives the client time to read it.
  void linger();
  /// Without a word to the client.
  void abort();

  const HttpLimits limits_;
  const MakeReceiver make_;
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::socket socket_{context_};
  Timer send_timer_{context_}, silence_timer_{context_}, end_timer_{context_};
  WyomingParser parser_;
  std::array<char, 16 << 10> input_{};
  bool is_failed_ = false;  // what still comes is not looked at
  SendQueue queue_;
  std::unique_ptr<WyomingReceiver> receiver_;  // this thread's
};

}  // namespace predgen::serve
