#pragma once

#include <sys/types.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "runtime/listen/ears_frames.h"
#include "runtime/listen/ears_options.h"
#include "runtime/listen/ears_streams.h"

namespace predgen {

/// The program predgen-ears, one for all conversations: started again when it has ended, or does
/// not answer. Nothing of it waits but its constructor. Thread-safe.
class EarsProcess {
 public:
  /// Returns when the program has loaded its models. UserError, in its words, if it cannot.
  explicit EarsProcess(const EarsOptions& options);
  ~EarsProcess();  // kills it; listeners are not called any more

  /// The listener is borrowed, until remove() has returned.
  void add(EarsListener& listener) { streams_.add(listener); }
  void remove(EarsListener& listener);

  /// A stream for this listener.
  uint32_t open(EarsListener& listener) { return streams_.open(listener); }
  /// False: too much sound waits already; it was not taken. Of a stream that is lost nothing is
  /// sent.
  bool send(uint32_t stream, std::span<const float> samples);
  void finish(uint32_t stream) { post({.type = EarsFrame::Type::kEnd, .stream = stream}); }
  /// The listener hears no more of it.
  void drop(uint32_t stream);

  pid_t pid() const { return pid_; }  // -1: does not run

 private:
  struct Running;

  void post(EarsFrame frame);
  // All of these are for the thread.
  void run();
  void start();
  void send_frame(EarsFrame frame);
  void write();
  void read();
  void take(const EarsFrame& frame);
  void ask();
  void expect_within(double seconds, const std::string& failure);
  void lose(const std::string& why);
  void start_again();
  void forget(const EarsFrame& frame);
  /// An operation's end, if its process still is the one that runs.
  template <class Then>
  auto of_process(Then then);

  const EarsOptions options_;
  const std::filesystem::path program_;
  std::atomic<size_t> num_waiting_ = 0;  // samples
  std::atomic<pid_t> pid_ = -1;

  EarsStreams streams_;

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_{context_};  // of what is expected
  boost::asio::steady_timer pause_{context_};  // before it is started again
  std::shared_ptr<Running> running_;           // null: it does not run
  std::deque<EarsFrame> outbox_;
  std::promise<std::string> started_;  // the first time; not empty: why it could not
  bool is_first_ = true;
  int num_failures_ = 0;  // soon after a start, in a row
  std::jthread thread_;   // last: it uses all of them
};

}  // namespace predgen
