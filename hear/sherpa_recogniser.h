#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "core/host_url.h"
#include "hear/recogniser.h"

namespace predgen {

/// ws://HOST[:PORT][/PATH]
using WebSocketUrl = HostUrl;

/// UserError says what a WebSocket's address looks like.
WebSocketUrl parse_web_socket_url(const std::string& url);

/// Limits on the time and memory that a recogniser may take.
struct RecogniserLimits {
  double connect_seconds = 5;
  double answer_seconds = 10;   // without a message after the end of an utterance
  double waiting_seconds = 30;  // of sound that it has not taken yet
};

/// One message of sherpa-onnx's streaming server. UserError for anything else; the error does not
/// quote it.
RecognisedSegment parse_segment(const std::string& message);

/// A client of sherpa-onnx's streaming server (sherpa-onnx-online-websocket-server, or one that
/// speaks like it) at a WebSocket. It gets samples as binary messages of 32-bit floats, and tells
/// what it has heard in JSON; "Done" ends an utterance and its connection, and is answered by
/// "Done!", or the end of the connection. The next utterance has its own connection. Works in its
/// own thread.
class SherpaRecogniser : public Recogniser {
 public:
  SherpaRecogniser(WebSocketUrl url, const RecogniserLimits& limits, RecogniserHandler& handler);
  /// Cuts the connection in use; the handler is not called any more.
  ~SherpaRecogniser() override;

  bool add(int64_t utterance, std::vector<float> samples) override;
  void finish(int64_t utterance) override;
  void drop(int64_t utterance) override;

 private:
  struct Message {
    int64_t utterance;
    std::vector<float> samples{};  // none: the end
  };
  struct Connection;
  using Held = std::shared_ptr<Connection>;

  // All of these run in the thread.
  void run();
  void push(Message message);
  /// Sends the next message, if it is time for that.
  void go_on();
  void connect();
  void write();
  void read();
  void take_message();
  void end_utterance();
  void fail(const std::string& why);
  void cut();
  void forget(const Message& message);
  void expect_within(double seconds);
  void expect_nothing();
  /// A completion handler that acts only if its connection is still the current one.
  template <class Then>
  auto of_connection(Then then);

  const WebSocketUrl url_;
  const RecogniserLimits limits_;
  RecogniserHandler& handler_;
  std::atomic<size_t> num_waiting_ = 0;  // samples

  boost::asio::io_context context_;  // without a hint of one thread: it reorders posts
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_{context_};
  std::deque<Message> queue_;
  Held connection_;      // of the utterance under way; null: none
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace predgen
