#include "hear/sherpa_recogniser.h"

#include <fcntl.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/text.h"
#include "hear/transcripts/transcript_reader.h"

namespace predgen {

WebSocketUrl parse_web_socket_url(const std::string& url) {
  if (url.starts_with("wss://")) {
    throw UserError(
        "{}: TLS is not spoken here: put a proxy on this machine in front, and give its ws:// "
        "address",
        url);
  }
  if (auto parsed = parse_host_url(url, "ws", R"(/\S*)")) return *std::move(parsed);
  throw UserError("'{}' is no address of a WebSocket: give ws://HOST:PORT", url);
}

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {

using Code = beast::error_code;

constexpr size_t kMaxMessageBytes = 1 << 20;
constexpr std::chrono::seconds kSilence{30};  // until the server is asked if it is still there

}  // namespace

RecognisedSegment parse_segment(const std::string& message) {
  check_json_depth(message, "it");
  const Json json = Json::parse(message, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw UserError("it is no JSON object");
  SherpaResult result = parse_sherpa_result(json, "it");
  return {.text = std::move(result.text), .number = result.segment, .is_over = result.is_final};
}

struct SherpaRecogniser::Connection {
  Connection(asio::io_context& context, int64_t of)
      : utterance(of), resolver(context), socket(context) {}

  const int64_t utterance;
  asio::ip::tcp::resolver resolver;
  websocket::stream<beast::tcp_stream> socket;
  beast::flat_buffer buffer;
  std::vector<float> writing;
  bool is_open = false, is_writing = false;
  bool is_finishing = false;  // nothing more of the utterance will come
};

SherpaRecogniser::SherpaRecogniser(WebSocketUrl url, const RecogniserLimits& limits,
                                   RecogniserHandler& handler)
    : url_(std::move(url)),
      limits_(limits),
      handler_(handler),
      work_(context_.get_executor()),
      thread_([this] { run(); }) {}

SherpaRecogniser::~SherpaRecogniser() {
  context_.stop();
  thread_.join();
}

void SherpaRecogniser::run() {
  while (!context_.stopped()) {
    try {
      context_.run();
    } catch (const std::exception& error) {
      spdlog::error("a recogniser's connection failed: {}", first_line(error.what()));
      fail("cannot be asked; the log says more");
    }
  }
}

bool SherpaRecogniser::add(int64_t utterance, std::vector<float> samples) {
  if (samples.empty()) return true;
  const size_t count = samples.size();
  const auto most = static_cast<size_t>(limits_.waiting_seconds * kRecogniserRate);
  if (num_waiting_ += count; num_waiting_ > most) {
    num_waiting_ -= count;
    return false;
  }
  asio::post(context_, [this, utterance, moved = std::move(samples)]() mutable {
    push({.utterance = utterance, .samples = std::move(moved)});
  });
  return true;
}

void SherpaRecogniser::finish(int64_t utterance) {
  asio::post(context_, [this, utterance] { push({.utterance = utterance}); });
}

void SherpaRecogniser::drop(int64_t utterance) {
  asio::post(context_, [this, utterance] {
    std::erase_if(queue_, [&](const Message& message) {
      if (message.utterance != utterance) return false;
      forget(message);
      return true;
    });
    if (connection_ && connection_->utterance == utterance) cut();
    go_on();
  });
}

void SherpaRecogniser::forget(const Message& message) { num_waiting_ -= message.samples.size(); }

void SherpaRecogniser::push(Message message) {
  queue_.push_back(std::move(message));
  go_on();
}

template <class Then>
auto SherpaRecogniser::of_connection(Then then) {
  return [this, then, of = connection_](const Code& error, const auto&...) {
    if (of == connection_) then(error);
  };
}

void SherpaRecogniser::expect_within(double seconds) {
  timer_.expires_after(steady_seconds(seconds));
  timer_.async_wait(of_connection([this](const Code& error) {
    // It may have been postponed when this call was already queued.
    const bool is_over = timer_.expiry() <= std::chrono::steady_clock::now();
    if (!error && is_over) fail("does not answer");
  }));
}

void SherpaRecogniser::expect_nothing() {
  timer_.expires_at(std::chrono::steady_clock::time_point::max());
}

void SherpaRecogniser::go_on() {
  if (queue_.empty()) return;
  if (!connection_) return connect();
  const bool is_ready =
      connection_->is_open && !connection_->is_writing && !connection_->is_finishing;
  if (is_ready) write();
}

void SherpaRecogniser::connect() {
  connection_ = std::make_shared<Connection>(context_, queue_.front().utterance);
  expect_within(limits_.connect_seconds);
  const auto absent = [this](const Code& error) { fail("is not there: " + error.message()); };
  const auto on_open = of_connection([this, absent](const Code& error) {
    if (error) return absent(error);
    expect_nothing();
    connection_->is_open = true;
    read();
    go_on();
  });
  const auto on_connected = of_connection([this, absent, on_open](const Code& error) {
    if (error) return absent(error);
    auto& socket = connection_->socket;
    Code ignored;
    ::fcntl(beast::get_lowest_layer(socket).socket().native_handle(), F_SETFD, FD_CLOEXEC);
    beast::get_lowest_layer(socket).socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    socket.set_option(websocket::stream_base::timeout{
        .handshake_timeout = steady_seconds(limits_.connect_seconds),
        .idle_timeout = kSilence,
        .keep_alive_pings = true});
    socket.read_message_max(kMaxMessageBytes);
    socket.async_handshake(url_.authority(), url_.path, on_open);
  });
  connection_->resolver.async_resolve(
      url_.host, url_.port,
      [this, absent, on_connected, of = connection_](const Code& error, const auto& places) {
        if (of != connection_) return;
        if (error) return absent(error);
        beast::get_lowest_layer(of->socket).async_connect(places, on_connected);
      });
}

void SherpaRecogniser::write() {
  Connection& to = *connection_;
  // The message is this utterance's: another one's connection has ended, or was cut.
  to.writing = std::move(queue_.front().samples);
  queue_.pop_front();
  to.is_writing = true;
  to.is_finishing = to.writing.empty();
  if (to.is_finishing) expect_within(limits_.answer_seconds);
  to.socket.binary(!to.is_finishing);
  const asio::const_buffer message =
      to.is_finishing ? asio::const_buffer("Done", 4) : asio::buffer(to.writing);
  to.socket.async_write(message, [this, of = connection_](const Code& error, size_t) {
    num_waiting_ -= of->writing.size();
    if (of != connection_) return;
    if (error) return fail("has gone away: " + error.message());
    of->is_writing = false;
    go_on();
  });
}

void SherpaRecogniser::read() {
  connection_->socket.async_read(
      connection_->buffer, of_connection([this](const Code& error) {
        if (!error) return take_message();
        // Some servers close here without a message.
        if (error == websocket::error::closed && connection_->is_finishing) return end_utterance();
        fail("has gone away: " + error.message());
      }));
}

void SherpaRecogniser::take_message() {
  const Held of = connection_;
  if (!of->socket.got_text()) return fail("has sent no text");
  const auto data = of->buffer.data();
  const std::string message(static_cast<const char*>(data.data()), data.size());
  of->buffer.consume(of->buffer.size());
  if (message == "Done!") {
    return of->is_finishing ? end_utterance() : fail("has ended before the sound did");
  }
  if (of->is_finishing) expect_within(limits_.answer_seconds);
  RecognisedSegment segment;
  try {
    segment = parse_segment(message);
  } catch (const UserError& error) {
    return fail(fmt::format("has sent what is no result: {}", error.what()));
  }
  handler_.on_segment(of->utterance, segment);
  if (of == connection_) read();
}

void SherpaRecogniser::end_utterance() {
  const Held of = std::exchange(connection_, nullptr);
  expect_nothing();
  if (of->socket.is_open()) {
    of->socket.async_close(websocket::close_code::normal, [of](const Code&) {});
  }
  handler_.on_end(of->utterance);
  go_on();
}

void SherpaRecogniser::cut() {
  expect_nothing();
  connection_->resolver.cancel();
  beast::get_lowest_layer(connection_->socket).close();
  connection_.reset();
}

void SherpaRecogniser::fail(const std::string& why) {
  spdlog::warn("the recogniser at {} {}", url_.authority(), why);
  if (connection_) cut();
  for (const Message& message : queue_) forget(message);
  queue_.clear();
  handler_.on_failure(why);
}

}  // namespace predgen
