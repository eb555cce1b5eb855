#include "serve/http/send_queue.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace predgen::serve {

SendQueue::SendQueue(boost::asio::io_context& context, size_t most_bytes,
                     std::function<void(const std::string&)> write, std::function<void()> abort)
    : context_(context),
      most_bytes_(most_bytes),
      write_(std::move(write)),
      abort_(std::move(abort)) {}

void SendQueue::start_writing() {
  if (!std::exchange(is_writing_, true)) boost::asio::post(context_, [this] { write_next(); });
}

void SendQueue::add(std::string message) {
  const Lock lock(mutex_);
  if (is_closed_) return;
  num_bytes_ += message.size();
  if (num_bytes_ > most_bytes_) {
    is_closed_ = true;
    messages_.clear();
    boost::asio::post(context_, abort_);
    return;
  }
  messages_.push_back(std::move(message));
  start_writing();
}

void SendQueue::close(std::function<void()> farewell) {
  const Lock lock(mutex_);
  if (std::exchange(is_closed_, true)) return;
  farewell_ = std::move(farewell);
  start_writing();
}

void SendQueue::lose() {
  const Lock lock(mutex_);
  is_closed_ = true;
  messages_.clear();
  farewell_ = nullptr;
  room_.notify_all();
}

bool SendQueue::wait_for_room(size_t bytes, const std::stop_token& stop) {
  Lock lock(mutex_);
  room_.wait(lock, stop, [&]() REQUIRES(mutex_) { return is_closed_ || num_bytes_ < bytes; });
  return !is_closed_ && !stop.stop_requested();
}

void SendQueue::note_written() {
  {
    const Lock lock(mutex_);
    num_bytes_ -= writing_.size();
    room_.notify_all();
  }
  write_next();
}

void SendQueue::write_next() {
  Lock lock(mutex_);
  is_writing_ = !messages_.empty();
  if (!is_writing_) {
    const std::function<void()> farewell = std::exchange(farewell_, nullptr);
    lock.unlock();
    if (farewell) farewell();
    return;
  }
  writing_ = std::move(messages_.front());
  messages_.pop_front();
  lock.unlock();
  write_(writing_);
}

}  // namespace predgen::serve
