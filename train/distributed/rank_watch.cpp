#include "train/distributed/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

namespace predgen {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPulse{400}, kSilence{2000};

const std::string kFailure = "predgen/failure";
std::string pulse_key(int rank) { return fmt::format("predgen/pulse/{}", rank); }

std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

RankWatch::RankWatch(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size,
                     std::function<int64_t()> step)
    : store_(std::move(store)), rank_(rank), world_size_(world_size), step_(std::move(step)) {
  thread_ = std::thread([this] { beat(); });
}

RankWatch::~RankWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RankWatch::beat() {
  std::unique_lock lock(mutex_);
  try {
    for (int64_t beats = 0; !stopping_; ++beats) {
      const auto write = [&] {
        store_->set(pulse_key(rank_), bytes(fmt::format("{} {}", beats, step_())));
      };
      write();
      changed_.wait_for(lock, kPulse, [&] { return stopping_; });
      if (stopping_) write();  // no new beat, but the step it ends in
    }
  } catch (const std::exception&) {  // the store is gone; the next collective says so
  }
}

std::vector<RankWatch::Pulse> RankWatch::pulses() {
  const std::lock_guard lock(mutex_);
  std::vector<Pulse> pulses(static_cast<size_t>(world_size_));
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!store_->check({pulse_key(rank)})) continue;
    Pulse& pulse = pulses[static_cast<size_t>(rank)];
    std::istringstream(text(store_->get(pulse_key(rank)))) >> pulse.beats >> pulse.step;
  }
  return pulses;
}

std::string RankWatch::first_failure(const std::string& mine) {
  const std::lock_guard lock(mutex_);
  if (mine.empty()) return store_->check({kFailure}) ? text(store_->get(kFailure)) : "";
  return text(store_->compareSet(kFailure, bytes(""), bytes(mine)));
}

std::string RankWatch::report(const std::string& reason) {
  try {
    return first_failure(fmt::format("rank {} failed in step {}: {}", rank_, step_(), reason));
  } catch (const std::exception&) {
    return reason;  // nobody is there to read it
  }
}

std::string RankWatch::explain(const std::string& collective, const std::string& reason) {
  const std::string own =
      fmt::format("{} of rank {} in step {} failed: {}", collective, rank_, step_(), reason);
  try {
    const std::vector<Pulse> before = pulses();
    const auto end = std::chrono::steady_clock::now() + kSilence;
    while (std::chrono::steady_clock::now() < end) {
      if (const std::string failure = first_failure(""); !failure.empty()) return failure;
      std::this_thread::sleep_for(milliseconds(50));
    }
    const std::vector<Pulse> now = pulses();
    std::string silent;
    for (size_t rank = 0; rank < now.size(); ++rank) {
      if (now[rank].beats != before[rank].beats) continue;
      silent += fmt::format("{}rank {} has ended or hangs, last heard of in step {}",
                            silent.empty() ? "" : "; ", rank, now[rank].step);
    }
    if (!silent.empty()) return first_failure(silent);
    const auto late = std::ranges::min_element(now, {}, &Pulse::step);
    return first_failure(late->step < step_()
                             ? fmt::format("rank {} is late: it is in step {}, rank {} in step {}",
                                           late - now.begin(), late->step, rank_, step_())
                             : own);
  } catch (const std::exception&) {
    return own + "; rank 0 or the launcher has ended, and with it the store of failures";
  }
}

}  // namespace predgen
