#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/mutex.h"

namespace predgen {

/// Lets several threads run code written for one: only the thread that holds the engine lock runs.
/// A thread that waits for something else (input, sound, a slow reader), or works long on its own
/// data, gives the engine lock up meanwhile. Thread-safe.
///
/// Threads belong to clients, and the engine lock goes round by round: first to threads whose
/// common work (wait()) is done, then to those that ask for it, up to kShare times per client: the
/// client that had it least often in this round first, among equals the thread that came first.
/// Then the thread that has waited longest in wait() does the common work, even if others want the
/// engine lock, and the next round begins. So no client holds up the common work by asking.
class EngineLock {
 public:
  /// Turns per client and round, not counting threads whose common work is done.
  static constexpr int64_t kShare = 16;

  EngineLock() = default;
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;

  /// Holds the engine lock from construction, which waits for it, to destruction. Not reentrant.
  class Hold {
   public:
    /// `client`: whose work it is; empty: the thread is a client of its own.
    explicit Hold(EngineLock& engine_lock, std::string client = {}) : engine_lock_(engine_lock) {
      engine_lock_.take(name_of(std::move(client)));
    }
    ~Hold() { engine_lock_.give(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    EngineLock& engine_lock_;
  };

  /// The inverse: the holding thread gives the engine lock up while this lives. Null: there is
  /// none.
  class Release {
   public:
    explicit Release(EngineLock& engine_lock) : Release(&engine_lock) {}
    explicit Release(EngineLock* engine_lock)
        : engine_lock_(engine_lock), client_(engine_lock ? engine_lock->give() : nullptr) {}
    ~Release() {
      if (engine_lock_ != nullptr) engine_lock_->take(client_);
    }
    Release(const Release&) = delete;
    Release& operator=(const Release&) = delete;

   private:
    EngineLock* const engine_lock_;
    const std::shared_ptr<const std::string> client_;
  };

  /// Called by the thread that holds the engine lock; returns, with the engine lock, once `is_done`
  /// says so. Until then other threads have it. At the end of a round, when all others rest, wait
  /// here too or have had their share, the thread that has waited longest calls its `work`, and
  /// every `is_done` is asked again. Both are called with the engine lock held, `is_done` possibly
  /// by another thread, and must not throw.
  void wait(const std::function<bool()>& is_done, const std::function<void()>& work);

  bool is_held_here() const;
  /// The client of the calling thread, which holds the engine lock.
  std::string client() const;
  /// Threads that want the engine lock or are in wait().
  int64_t num_waiting() const;

 private:
  using Client = std::shared_ptr<const std::string>;
  /// What a client's threads have had in this round.
  struct Share {
    int64_t num_had = 0, num_waiters = 0;
  };
  struct Waiter {
    Client client;
    const std::function<bool()>* is_done = nullptr;  // in wait()
    Share* share = nullptr;                          // asks for the engine lock
    bool has_turn = false;
    std::condition_variable turn{};
  };
  using Waiters = std::list<Waiter*>;

  static Client name_of(std::string client);
  void take(const Client& client);
  /// Returns the client of the thread that held it.
  Client give();
  /// Gives the engine lock to the next waiter, if there is one.
  void pass_on() REQUIRES(mutex_);
  /// Takes the next waiter out of its queue; null: none.
  Waiter* next() REQUIRES(mutex_);
  void begin_round() REQUIRES(mutex_);
  void await_turn(Waiter& self, Lock& lock) REQUIRES(mutex_);

  mutable Mutex mutex_;
  bool is_held_ GUARDED_BY(mutex_) = false;  // also while it is being handed over
  std::optional<std::thread::id> holder_ GUARDED_BY(mutex_);
  Client client_ GUARDED_BY(mutex_);    // the holder's
  Waiters served_ GUARDED_BY(mutex_);   // common work done, to continue
  Waiters ready_ GUARDED_BY(mutex_);    // ask for it
  Waiters waiting_ GUARDED_BY(mutex_);  // in wait(), not done
  std::map<std::string, Share> shares_
      GUARDED_BY(mutex_);  // by clients, at least of those in ready_
};

}  // namespace predgen
