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

/// Lets several threads run code that was written for one: only the thread that holds the baton
/// runs. Whoever waits for something else (input, sound, a slow reader), or works on what is its
/// own for long, gives it up for that time. Thread-safe.
///
/// Threads belong to clients, and it goes in rounds. First it goes to those whose common work
/// (wait()) is done, then to those that ask for it: the one whose client has had it least often in
/// this round, of these the one that came first, and up to kShare times for each client. Then the
/// thread that has waited longest in wait() does the common work, whoever else wants the baton, and
/// the next round begins. So no client holds up the common work by asking.
class Baton {
 public:
  /// How often in a round a client's threads have it, beside those whose common work is done.
  static constexpr int64_t kShare = 16;

  Baton() = default;
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;

  /// Holds the baton from its construction, which waits for it, to its end. Not twice in a thread.
  class Hold {
   public:
    /// `client`: whose work it is; empty: the thread is a client of its own.
    explicit Hold(Baton& baton, std::string client = {}) : baton_(baton) {
      baton_.take(name_of(std::move(client)));
    }
    ~Hold() { baton_.give(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Baton& baton_;
  };

  /// The other way round: the holding thread is without the baton while this lives.
  class Rest {
   public:
    explicit Rest(Baton& baton) : baton_(baton), client_(baton_.give()) {}
    ~Rest() { baton_.take(client_); }
    Rest(const Rest&) = delete;
    Rest& operator=(const Rest&) = delete;

   private:
    Baton& baton_;
    const std::shared_ptr<const std::string> client_;
  };

  /// Called by the thread that holds the baton; returns, with the baton, when `is_done` says so.
  /// Until then other threads have it. At the end of a round, which is when all others rest or wait
  /// here, too, or have had their share, the thread that has waited longest calls its `work`, and
  /// all are asked again. Both are called with the baton held, possibly `is_done` by another
  /// thread, and must not throw.
  void wait(const std::function<bool()>& is_done, const std::function<void()>& work);

  bool is_held_here() const;
  /// Whose work the thread that calls it, and holds the baton, does.
  std::string client() const;
  /// Threads that want the baton or are in wait().
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
    Share* share = nullptr;                          // asks for the baton
    bool has_turn = false;
    std::condition_variable turn{};
  };
  using Waiters = std::list<Waiter*>;

  static Client name_of(std::string client);
  void take(const Client& client);
  /// Returns whose work the thread did that had it.
  Client give();
  /// Gives the baton to the next one, if there is one.
  void pass_on() REQUIRES(mutex_);
  /// Takes the next one out of its queue; null: nobody wants it.
  Waiter* next() REQUIRES(mutex_);
  void begin_round() REQUIRES(mutex_);
  void await_turn(Waiter& self, Lock& lock) REQUIRES(mutex_);

  mutable Mutex mutex_;
  bool is_held_ GUARDED_BY(mutex_) = false;  // also while it goes from one to the next
  std::optional<std::thread::id> holder_ GUARDED_BY(mutex_);
  Client client_ GUARDED_BY(mutex_);    // the holder's
  Waiters served_ GUARDED_BY(mutex_);   // the common work is done, they go on
  Waiters ready_ GUARDED_BY(mutex_);    // ask for it
  Waiters waiting_ GUARDED_BY(mutex_);  // in wait(), not done
  std::map<std::string, Share> shares_
      GUARDED_BY(mutex_);  // by clients, at least of those in ready_
};

}  // namespace predgen
