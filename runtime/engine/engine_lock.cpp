#include "runtime/engine/engine_lock.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace predgen {

EngineLock::Client EngineLock::name_of(std::string client) {
  if (client.empty()) {
    client = fmt::format("thread {}", std::hash<std::thread::id>()(std::this_thread::get_id()));
  }
  return std::make_shared<const std::string>(std::move(client));
}

bool EngineLock::is_held_here() const {
  const Lock lock(mutex_);
  return holder_ == std::this_thread::get_id();
}

std::string EngineLock::client() const {
  const Lock lock(mutex_);
  return *client_;
}

int64_t EngineLock::num_waiting() const {
  const Lock lock(mutex_);
  return static_cast<int64_t>(served_.size() + ready_.size() + waiting_.size());
}

void EngineLock::begin_round() {
  std::erase_if(shares_, [](const auto& one) { return one.second.num_waiters == 0; });
  for (auto& [client, share] : shares_) share.num_had = 0;
}

EngineLock::Waiter* EngineLock::next() {
  const auto taken_from = [](Waiters& queue, Waiters::iterator one) {
    Waiter* const waiter = *one;
    queue.erase(one);
    return waiter;
  };
  if (!served_.empty()) return taken_from(served_, served_.begin());
  const auto first = std::ranges::min_element(
      ready_, std::less<>(), [](const Waiter* waiter) { return waiter->share->num_had; });
  if (first == ready_.end() || (*first)->share->num_had >= kShare) {
    begin_round();
    if (!waiting_.empty()) return taken_from(waiting_, waiting_.begin());
    if (first == ready_.end()) return nullptr;
  }
  ++(*first)->share->num_had;
  --(*first)->share->num_waiters;
  return taken_from(ready_, first);
}

void EngineLock::pass_on() {
  holder_.reset();
  Waiter* const waiter = next();
  is_held_ = waiter != nullptr;
  if (!waiter) return;
  waiter->has_turn = true;
  waiter->turn.notify_one();
}

void EngineLock::await_turn(Waiter& self, Lock& lock) {
  self.turn.wait(lock.native(), [&] { return self.has_turn; });
  self.has_turn = false;
  holder_ = std::this_thread::get_id();
  client_ = self.client;
}

void EngineLock::take(const Client& client) {
  Lock lock(mutex_);
  PREDGEN_CHECK(holder_ != std::this_thread::get_id(), "the engine lock is taken twice");
  Waiter self{.client = client, .share = &shares_[*client]};
  ready_.push_back(&self);
  ++self.share->num_waiters;
  if (!is_held_) pass_on();
  await_turn(self, lock);
}

EngineLock::Client EngineLock::give() {
  const Lock lock(mutex_);
  Client client = client_;
  pass_on();
  return client;
}

void EngineLock::wait(const std::function<bool()>& is_done, const std::function<void()>& work) {
  Lock lock(mutex_);
  PREDGEN_CHECK(holder_ == std::this_thread::get_id(), "only the engine lock's holder waits");
  Waiter self{.client = client_, .is_done = &is_done};
  while (!is_done()) {
    waiting_.push_back(&self);
    pass_on();
    await_turn(self, lock);
    if (is_done()) break;
    lock.unlock();
    work();
    lock.lock();
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      const auto next = std::next(one);
      if ((*(*one)->is_done)()) served_.splice(served_.end(), waiting_, one);
      one = next;
    }
  }
}

}  // namespace predgen
