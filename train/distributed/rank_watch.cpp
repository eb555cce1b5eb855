#include "train/distributed/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace predgen::train {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPulse{400}, kSilence{2000}, kAnswer{8000};

constexpr const char* kFailure = "predgen/failure";
std::string pulse_key(int rank) { return fmt::format("predgen/pulse/{}", rank); }

std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

struct Pulse {
  int64_t beats = -1, step = 0;
};

}  // namespace

/// A query to the store. A store whose process hangs never answers.
struct RankWatch::Query {
  c10::intrusive_ptr<c10d::Store> store;
  int world_size;

  std::vector<Pulse> pulses() {
    std::vector<Pulse> pulses(static_cast<size_t>(world_size));
    for (int rank = 0; rank < world_size; ++rank) {
      if (!store->check({pulse_key(rank)})) continue;
      Pulse& pulse = pulses[static_cast<size_t>(rank)];
      std::istringstream(text(store->get(pulse_key(rank)))) >> pulse.beats >> pulse.step;
    }
    return pulses;
  }

  std::string failure() { return store->check({kFailure}) ? text(store->get(kFailure)) : ""; }
  /// Stores a failure unless there is one already; returns the stored one.
  std::string put_failure(const std::string& mine) {
    return text(store->compareSet(kFailure, bytes(""), bytes(mine)));
  }
};

RankWatch::RankWatch(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
                     std::function<int64_t()> step)
    : rank_(rank),
      step_(std::move(step)),
      query_(std::make_shared<Query>(Query{store->clone(), world_size})),
      pulse_store_(store->clone()) {
  thread_ = std::thread([this] { beat(); });
}

RankWatch::~RankWatch() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RankWatch::beat() {
  Lock lock(mutex_);
  try {
    for (int64_t beats = 0; !stopping_; ++beats) {
      const auto write = [&] {
        pulse_store_->set(pulse_key(rank_), bytes(fmt::format("{} {}", beats, step_())));
      };
      write();
      has_failure_ = has_failure_ || pulse_store_->check({kFailure});
      changed_.wait_for(lock.native(), kPulse, [&]() REQUIRES(mutex_) { return stopping_; });
      if (stopping_) write();  // no new beat, only the final step
    }
  } catch (const std::exception&) {  // the store is gone; the next collective reports it
  }
}

/// Runs on its own thread, which is abandoned if the store does not answer.
std::string RankWatch::ask(std::function<std::string(Query&)> work) const {
  std::packaged_task<std::string()> task(
      [work = std::move(work), query = query_] { return work(*query); });
  std::future<std::string> answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(kAnswer) != std::future_status::ready) {
    throw std::runtime_error("the store does not answer");
  }
  return answer.get();
}

void RankWatch::report(const std::string& reason) {
  const std::string mine = fmt::format("rank {} failed in step {}: {}", rank_, step_(), reason);
  try {
    ask([mine](Query& query) { return query.put_failure(mine); });
  } catch (const std::exception&) {  // no one is left to read it
  }
}

std::string RankWatch::explain(const std::string& collective, const std::string& reason) {
  const int64_t step = step_();
  const std::string own =
      fmt::format("{} of rank {} in step {} failed: {}", collective, rank_, step, reason);
  const auto find_out = [own, step, rank = rank_](Query& query) -> std::string {
    if (std::string failure = query.failure(); !failure.empty()) return failure;
    const std::vector<Pulse> before = query.pulses();
    const auto end = std::chrono::steady_clock::now() + kSilence;
    while (std::chrono::steady_clock::now() < end) {
      if (std::string failure = query.failure(); !failure.empty()) return failure;
      std::this_thread::sleep_for(milliseconds(50));
    }
    const std::vector<Pulse> now = query.pulses();
    std::string silent;
    for (size_t other = 0; other < now.size(); ++other) {
      if (now[other].beats != before[other].beats) continue;
      silent += fmt::format("{}rank {} has ended or hangs, last heard of in step {}",
                            silent.empty() ? "" : "; ", other, now[other].step);
    }
    if (!silent.empty()) return query.put_failure(silent);
    const auto late = std::ranges::min_element(now, {}, &Pulse::step);
    if (late->step >= step) return query.put_failure(own);
    return query.put_failure(fmt::format("rank {} is late: it is in step {}, rank {} in step {}",
                                         late - now.begin(), late->step, rank, step));
  };
  try {
    return ask(find_out);
  } catch (const std::exception&) {
    return own + "; rank 0 or the launcher, which serves the ranks' store, has ended or hangs";
  }
}

}  // namespace predgen::train
