#include "runtime/engine/baton.h"

#include "core/error.h"

namespace predgen {

bool Baton::is_held_here() const {
  const std::lock_guard lock(mutex_);
  return holder_ == std::this_thread::get_id();
}

int64_t Baton::num_waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(ready_.size() + waiting_.size());
}

void Baton::pass_on() {
  holder_.reset();
  std::deque<Waiter*>& next = ready_.empty() ? waiting_ : ready_;
  is_held_ = !next.empty();
  if (next.empty()) return;
  next.front()->has_turn = true;
  next.front()->turn.notify_one();
  next.pop_front();
}

void Baton::await_turn(Waiter& self, std::unique_lock<std::mutex>& lock) {
  self.turn.wait(lock, [&] { return self.has_turn; });
  self.has_turn = false;
  holder_ = std::this_thread::get_id();
}

void Baton::take() {
  std::unique_lock lock(mutex_);
  PREDGEN_CHECK(holder_ != std::this_thread::get_id(), "the baton is taken twice");
  Waiter self;
  ready_.push_back(&self);
  if (!is_held_) pass_on();
  await_turn(self, lock);
}

void Baton::give() {
  const std::lock_guard lock(mutex_);
  pass_on();
}

void Baton::wait(const std::function<bool()>& is_done, const std::function<void()>& work) {
  std::unique_lock lock(mutex_);
  PREDGEN_CHECK(holder_ == std::this_thread::get_id(), "only the baton's holder waits");
  Waiter self{.is_done = &is_done};
  while (!is_done()) {
    waiting_.push_back(&self);
    pass_on();
    await_turn(self, lock);
    if (is_done()) break;
    lock.unlock();
    work();
    lock.lock();
    std::erase_if(waiting_, [&](Waiter* waiter) {
      const bool done = (*waiter->is_done)();
      if (done) ready_.push_back(waiter);
      return done;
    });
  }
}

}  // namespace predgen
