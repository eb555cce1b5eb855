#pragma once

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>

#include "core/mutex.h"

namespace predgen::serve {

/// What a connection has still to send: any thread adds messages, and the connection's writes one
/// after the other. Thread-safe.
class SendQueue {
 public:
  /// Borrows `context`, whose thread is the connection's and calls the two: `write` with a message
  /// that stays until note_written(); `abort` when more than `most_bytes` wait, as the client reads
  /// too slowly.
  SendQueue(boost::asio::io_context& context, size_t most_bytes,
            std::function<void(const std::string&)> write, std::function<void()> abort);

  /// Nothing happens after close(), lose(), or an abort.
  void add(std::string message);
  /// What is there is still sent, then `farewell` called as the others are. The first call counts.
  void close(std::function<void()> farewell);
  /// The connection is gone.
  void lose();
  /// Waits until fewer than `bytes` are to be sent; false if nothing more is.
  bool wait_for_room(size_t bytes, const std::stop_token& stop);

  /// By the connection's thread: what `write` got is sent.
  void note_written();

 private:
  void write_next();
  void start_writing() REQUIRES(mutex_);

  boost::asio::io_context& context_;
  const size_t most_bytes_;
  const std::function<void(const std::string&)> write_;
  const std::function<void()> abort_;
  std::string writing_;  // the connection's thread's

  Mutex mutex_;
  std::condition_variable_any room_;
  std::deque<std::string> messages_ GUARDED_BY(mutex_);
  size_t num_bytes_ GUARDED_BY(mutex_) = 0;  // with the message that is being written
  bool is_writing_ GUARDED_BY(mutex_) = false;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  std::function<void()> farewell_ GUARDED_BY(mutex_);
};

}  // namespace predgen::serve
