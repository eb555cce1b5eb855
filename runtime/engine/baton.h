#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace predgen {

/// Lets several threads run code that was written for one: only the thread that holds the baton
/// runs, the others wait for it in the order in which they came. Whoever waits for something else
/// (input, sound, a slow reader) gives it up for that time. Thread-safe.
class Baton {
 public:
  Baton() = default;
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  /// Holds the baton from its construction, which waits for it, to its end. Not twice in a thread.
  class Hold {
   public:
    explicit Hold(Baton& baton) : baton_(baton) { baton_.take(); }
    ~Hold() { baton_.give(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Baton& baton_;
  };

  /// The other way round: the holding thread is without the baton while this lives.
  class Rest {
   public:
    explicit Rest(Baton& baton) : baton_(baton) { baton_.give(); }
    ~Rest() { baton_.take(); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    Baton& baton_;
  };

  /// Called by the thread that holds the baton; returns, with the baton, when `is_done` says so.
  /// Until then other threads have it. Once all of them rest or wait here, so that nobody can add
  /// to the common work any more, the thread that has waited longest calls its `work`, and all are
  /// asked again. Both are called with the baton held, possibly `is_done` by another thread, and
  /// must not throw.
  void wait(const std::function<bool()>& is_done, const std::function<void()>& work);

  bool is_held_here() const;
  /// Threads that want the baton or are in wait().
  int64_t num_waiting() const;

 private:
  struct Waiter {
    const std::function<bool()>* is_done = nullptr;  // null: wants the baton, nothing else
    bool has_turn = false;
    std::condition_variable turn{};
  };

  void take();
  void give();
  /// Gives the baton to the next one, if there is one.
  void pass_on();
  void await_turn(Waiter& self, std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  bool is_held_ = false;  // also while it goes from one to the next
  std::optional<std::thread::id> holder_;
  std::deque<Waiter*> ready_;    // could go on at once
  std::deque<Waiter*> waiting_;  // in wait(), not done
};

}  // namespace predgen
