#include "serve/wyoming/wyoming_connection.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "core/error.h"
#include "core/stop.h"
#include "serve/api_error.h"
#include "serve/http/tcp_server.h"

namespace predgen::serve {
namespace asio = boost::asio;

namespace {

using BoostError = boost::system::error_code;

/// How long a client may take to close its side after the last event. One that still sends loses
/// that event if the connection just ends.
constexpr double kClosingSeconds = 2;
constexpr std::chrono::seconds kConnectPatience{5};  // with who is connected to
/// Sound waits while more is queued, or half of what may be.
constexpr size_t kRoomBytes = 1 << 20;

}  // namespace

WyomingConnection::WyomingConnection(const HttpLimits& limits, MakeReceiver make)
    : limits_(limits),
      make_(std::move(make)),
      parser_({.header_bytes = static_cast<size_t>(limits.header_bytes),
               .body_bytes = static_cast<size_t>(limits.message_bytes)}),
      queue_(
          context_, static_cast<size_t>(limits.queue_bytes),
          [this](const std::string& bytes) { write(bytes); }, [this] { abort(); }) {}

void WyomingConnection::connect(const std::string& host, int port, const std::stop_token& stop) {
  BoostError result = asio::error::timed_out;
  asio::ip::tcp::resolver resolver(context_);
  resolver.async_resolve(
      host, std::to_string(port), [&](const BoostError& error, const auto& endpoints) {
        if (error) return void(result = error);
        asio::async_connect(socket_, endpoints,
                            [&](const BoostError& failed, const auto&) { result = failed; });
      });
  const std::stop_callback on_stop(stop, [this] { context_.stop(); });
  context_.run_for(kConnectPatience);
  throw_if_stopped(stop);
  context_.restart();
  if (result) throw Error("{}", result.message());
  notice_vanishing(socket_);
}

void WyomingConnection::serve(const std::stop_token& drain, const std::stop_token& stop) {
  BoostError ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  receiver_ = make_(*this, peer_of(socket_));
  start_timer(end_timer_, limits_.session_seconds,
              [this] { fail("the session has lasted long enough", "session_expired"); });
  start_timer(silence_timer_, limits_.silence_seconds,
              [this] { fail("nothing came for too long", "session_expired"); });
  read();
  // What is posted runs in this thread, during run().
  const std::stop_callback on_drain(
      drain, [this] { asio::post(context_, [this] { receiver_->drain(); }); });
  const std::stop_callback on_stop(stop, [this] { asio::post(context_, [this] { abort(); }); });
  try {
    context_.run();
  } catch (...) {
    abort();
    receiver_.reset();
    throw;
  }
  receiver_.reset();
}

void WyomingConnection::refuse_one_more(const std::stop_token&) {
  const std::string bytes =
      to_bytes(error_event("there are too many connections: try again", "overloaded"));
  BoostError ignored;
  socket_.non_blocking(true, ignored);
  socket_.write_some(asio::buffer(bytes), ignored);
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void WyomingConnection::read() {
  socket_.async_read_some(asio::buffer(input_), [this](const BoostError& error, size_t count) {
    if (error) return abort();
    take({input_.data(), count});
    read();
  });
}

void WyomingConnection::take(std::string_view bytes) {
  if (is_failed_) return;
  try {
    parser_.add(bytes);
    while (const std::optional<WyomingEvent> event = parser_.next()) {
      start_timer(silence_timer_, limits_.silence_seconds,
                  [this] { fail("nothing came for too long", "session_expired"); });
      receiver_->take(*event);
    }
  } catch (const UserError& error) {
    fail(error.what(), "invalid_event");
  } catch (const std::exception& error) {
    fail(server_fault("a connection", error).what(), "server_error");
  }
}

void WyomingConnection::fail(const std::string& text, const std::string& code) {
  is_failed_ = true;
  send(error_event(text, code));
  close();
}

void WyomingConnection::abort() {
  queue_.lose();
  BoostError ignored;
  socket_.close(ignored);
  context_.stop();
}

void WyomingConnection::send(const WyomingEvent& event) { queue_.add(to_bytes(event)); }

void WyomingConnection::close() {
  queue_.close([this] { linger(); });
}

bool WyomingConnection::wait_for_room(const std::stop_token& stop) {
  return queue_.wait_for_room(std::min(kRoomBytes, static_cast<size_t>(limits_.queue_bytes) / 2),
                              stop);
}

void WyomingConnection::write(const std::string& bytes) {
  start_timer(send_timer_, limits_.send_seconds, [this] { abort(); });
  asio::async_write(socket_, asio::buffer(bytes), [this](const BoostError& error, size_t) {
    send_timer_.cancel();
    if (error) return abort();
    queue_.note_written();
  });
}

void WyomingConnection::linger() {
  BoostError ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  start_timer(end_timer_, kClosingSeconds, [this] { abort(); });
}

}  // namespace predgen::serve
