#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/mutex.h"
#include "runtime/converse/turn.h"
#include "runtime/engine/engine.h"

namespace predgen::serve {

/// Adds one to a gauge while it is set. Used by one thread at a time.
class GaugeShare {
 public:
  explicit GaugeShare(std::atomic<int64_t>& gauge) : gauge_(gauge) {}
  ~GaugeShare() { set(false); }
  GaugeShare(const GaugeShare&) = delete;
  GaugeShare& operator=(const GaugeShare&) = delete;

  void set(bool is_so) {
    if (std::exchange(is_so_, is_so) != is_so) gauge_ += is_so ? 1 : -1;
  }

 private:
  std::atomic<int64_t>& gauge_;
  bool is_so_ = false;
};

/// The metrics of GET /metrics, in Prometheus' text format. Thread-safe.
class ServeMetrics {
 public:
  /// Conversations whose users are speaking, and that are answering.
  std::atomic<int64_t> speaking = 0, answering = 0;

  void count_request(const std::string& path, int status);
  void count_pass(const PassSize& size);
  void count_prompt(int64_t num_tokens, int64_t num_cached);
  void count_generated(int64_t num_tokens);
  /// Of a conversation that hears its user during speech.
  void count_turn(const TurnMetrics& turn);
  /// Of the server's own tools; `outcome`: act::to_string() of its status.
  void count_tool_call(const std::string& outcome, Seconds elapsed);
  /// Of those, in conversations: begun while the user spoke; whether the answer made it.
  void count_early_call(bool is_kept) {
    const Lock lock(mutex_);
    ++(is_kept ? early_kept_ : early_discarded_);
  }
  /// Of realtime clients' functions, in drafts that later words or a pause had kept: whether they
  /// were made.
  void count_predicted_calls(int64_t num_kept, int64_t num_discarded) {
    const Lock lock(mutex_);
    predicted_kept_ += num_kept;
    predicted_discarded_ += num_discarded;
  }
  /// Call with the engine's lock.
  void note_pool(const KvPool& pool);
  /// Measured from when a request was complete.
  void observe_first_token(Seconds elapsed);
  void observe_first_sentence(Seconds elapsed);

  /// The current state.
  struct State {
    int64_t sessions = 0, conversations = 0, waiting = 0;
  };
  std::string text(const State& state) const;

 private:
  static constexpr std::array kBounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                      0.5,   1.0,  2.5,   5.0,  10.0};  // seconds
  struct Histogram {
    std::array<int64_t, kBounds.size()> up_to{};
    int64_t count = 0;
    double sum = 0;
    void observe(Seconds value);
  };

  mutable Mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_ GUARDED_BY(mutex_);
  int64_t passes_ GUARDED_BY(mutex_) = 0;
  int64_t pass_sequences_ GUARDED_BY(mutex_) = 0;
  int64_t pass_tokens_ GUARDED_BY(mutex_) = 0;
  int64_t prompt_tokens_ GUARDED_BY(mutex_) = 0;
  int64_t cached_tokens_ GUARDED_BY(mutex_) = 0;
  int64_t generated_tokens_ GUARDED_BY(mutex_) = 0;
  int64_t turns_ GUARDED_BY(mutex_) = 0;
  int64_t kept_sentences_ GUARDED_BY(mutex_) = 0;
  int64_t speculative_passes_ GUARDED_BY(mutex_) = 0;
  int64_t turn_passes_ GUARDED_BY(mutex_) = 0;
  int64_t drafted_tokens_ GUARDED_BY(mutex_) = 0;
  int64_t accepted_tokens_ GUARDED_BY(mutex_) = 0;
  int64_t predicted_kept_ GUARDED_BY(mutex_) = 0;
  int64_t predicted_discarded_ GUARDED_BY(mutex_) = 0;
  int64_t early_kept_ GUARDED_BY(mutex_) = 0;
  int64_t early_discarded_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> tool_calls_ GUARDED_BY(mutex_);  // by outcome
  Histogram first_token_ GUARDED_BY(mutex_);
  Histogram first_sentence_ GUARDED_BY(mutex_);
  Histogram audio_latency_ GUARDED_BY(mutex_);
  Histogram tool_seconds_ GUARDED_BY(mutex_);
  std::atomic<int64_t> kv_positions_ = 0, kv_swapped_out_ = 0;
};

}  // namespace predgen::serve
