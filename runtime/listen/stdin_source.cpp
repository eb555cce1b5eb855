#include "runtime/listen/stdin_source.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/stop.h"
#include "core/stoppable_poll.h"
#include "core/text.h"

namespace predgen {
namespace {

constexpr size_t kMaxWaiting = 256;  // transcripts that are read ahead

}  // namespace

StdinSource::StdinSource(int fd, Format format, const Clock& clock, std::stop_token stop)
    : fd_(fd), format_(format), clock_(clock), stop_(std::move(stop)) {
  if (format_ == Format::kAuto && isatty(fd)) format_ = Format::kPlainText;
  reader_ = std::jthread([this](const std::stop_token& destroyed) {
    std::exception_ptr failure;
    try {
      read_all(StoppablePoll(destroyed), destroyed);
    } catch (const Interrupted&) {
      return;
    } catch (...) {
      failure = std::current_exception();
    }
    const Lock lock(mutex_);
    if (!failure && !transcripts_.empty() && !transcripts_.back().is_final &&
        !is_blank(transcripts_.back().text)) {
      push_locked(std::string(transcripts_.back().text), true);
    }
    failure_ = failure;
    ended_ = true;
    arrived_.notify_all();
  });
}

void StdinSource::read_all(const StoppablePoll& poll, const std::stop_token& destroyed) {
  std::string pending;
  char buffer[4096];
  while (true) {
    poll.wait(fd_, POLLIN);
    const ssize_t count = read(fd_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error("cannot read the input: {}", std::strerror(errno));
    if (count == 0) break;
    pending.append(buffer, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      take_line(pending.substr(begin, end - begin));
      wait_for_room(destroyed);
    }
    pending.erase(0, begin);
  }
  if (!pending.empty()) take_line(pending);
}

void StdinSource::take_line(const std::string& line) {
  ++line_number_;
  const std::string_view words = trimmed(line, " \t\r");
  if (words.empty()) return;
  if (format_ == Format::kAuto) {
    format_ = words[0] == '{' ? Format::kJsonLines : Format::kPlainText;
  }
  if (format_ == Format::kPlainText) {
    push(std::string(words), true);
    return;
  }
  const std::string where = fmt::format("input line {}", line_number_);
  for (const TranscriptLine& parsed : parse_transcript_line(line, where, messages_)) {
    if (!filter_.is_stale(parsed)) push(parsed.text, parsed.is_final);
  }
}

void StdinSource::wait_for_room(const std::stop_token& destroyed) {
  Lock lock(mutex_);
  taken_.wait(lock, destroyed,
              [&]() REQUIRES(mutex_) { return transcripts_.size() < kMaxWaiting; });
  throw_if_stopped(destroyed);
}

void StdinSource::push(const std::string& text, bool is_final) {
  const Lock lock(mutex_);
  push_locked(text, is_final);
}

void StdinSource::push_locked(const std::string& text, bool is_final) {
  // The one before is overtaken, unless it ends a turn.
  if (!transcripts_.empty() && !transcripts_.back().is_final) transcripts_.pop_back();
  transcripts_.push_back(
      {.text = text, .revision = ++num_transcripts_, .time = clock_.now(), .is_final = is_final});
  arrived_.notify_all();
}

std::optional<Transcript> StdinSource::newest_locked() const {
  if (transcripts_.empty()) return std::nullopt;
  return transcripts_.front();
}

size_t StdinSource::num_waiting() {
  const Lock lock(mutex_);
  return transcripts_.size();
}

std::optional<Transcript> StdinSource::latest(Seconds) {
  throw_if_stopped(stop_);
  const Lock lock(mutex_);
  return newest_locked();
}

std::optional<Transcript> StdinSource::wait_newer(int64_t revision, Clock&) {
  Lock lock(mutex_);
  std::optional<Transcript> newest;
  const auto is_newer = [&]() REQUIRES(mutex_) {
    newest = newest_locked();
    return newest && newest->revision > revision;
  };
  arrived_.wait(lock, stop_, [&]() REQUIRES(mutex_) { return is_newer() || ended_; });
  throw_if_stopped(stop_);
  if (!is_newer()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  if (newest->is_final) {
    transcripts_.pop_front();
    taken_.notify_all();
  }
  return newest;
}

}  // namespace predgen
