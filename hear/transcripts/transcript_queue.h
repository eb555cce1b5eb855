#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>

#include "core/mutex.h"
#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// Transcripts on their way from the thread that hears to the thread that answers. Final ones stay
/// until they are taken, each before anything of the next turn; of a turn in progress only the
/// newest one is kept. Revisions count all of them. Thread-safe, with one thread on each side; a
/// live TranscriptSource is this plus a hearing side.
class TranscriptQueue {
 public:
  /// Stamps what arrives; read by both threads.
  explicit TranscriptQueue(const Clock& clock) : clock_(clock) {}

  // The hearing side. After end() these do nothing.
  void push(std::string text, bool is_final);
  /// Transcript::is_stable.
  void push_stable(std::string text);
  /// Arrives at `time` as stable, unless another call on this side comes first.
  void push_at(Seconds time, std::string text);
  /// The newest text of the turn in progress, including one of push_at() whose time has come;
  /// empty: none. One whose time has not come is dropped.
  std::string settle();
  /// Drops the turn in progress; take() returns nullopt once, after the turns before.
  void push_break();
  /// After everything pushed before, take() returns nullopt or throws `failure`. What was heard of
  /// a turn in progress can still be taken, unless forget_unfinished() came first.
  void end(std::exception_ptr failure = {});
  void forget_unfinished();
  /// Waits until fewer than `most` transcripts are queued, or for the stop.
  void wait_for_room(size_t most, const std::stop_token& stop);

  // The answering side.
  /// As TranscriptSource::latest().
  std::optional<Transcript> latest(Seconds now);
  /// Waits until take() would not block: for something newer than `revision`, a break, the end or
  /// the stop.
  void wait(int64_t revision, const std::stop_token& stop);
  /// The newest transcript if it is newer than `revision`; a final one leaves the queue; so does a
  /// break, giving nullopt. Interrupted after a stop, before anything is taken. Waits if need be.
  std::optional<Transcript> take(int64_t revision, const std::stop_token& stop);
  /// Forgets everything up to a final transcript. False: there is none.
  bool drop_final();

  size_t size() const;

 private:
  struct Entry {
    Transcript transcript{};
    bool is_break = false;  // then there is no transcript
  };
  struct Later {
    Seconds time{0};
    std::string text;
  };

  /// Stamps it with the current time.
  void push_now(Transcript transcript);
  /// Gives it the next revision.
  void push_locked(Transcript transcript) REQUIRES(mutex_);
  void forget_unfinished_locked() REQUIRES(mutex_);
  /// What push_at() has announced arrives, if it is time.
  void arrive_locked() REQUIRES(mutex_);
  bool has_news_locked(int64_t revision) const REQUIRES(mutex_);
  void wait_locked(Lock& lock, int64_t revision, const std::stop_token& stop) REQUIRES(mutex_);
  void tell_locked() REQUIRES(mutex_);
  bool is_unfinished_locked() const REQUIRES(mutex_);

  const Clock& clock_;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  // Final ones and breaks, possibly followed by the newest of the next turn.
  std::deque<Entry> entries_ GUARDED_BY(mutex_);
  std::optional<Later> later_ GUARDED_BY(mutex_);
  int64_t num_pushed_ GUARDED_BY(mutex_) = 0, num_changes_ GUARDED_BY(mutex_) = 0;
  bool has_ended_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace predgen
