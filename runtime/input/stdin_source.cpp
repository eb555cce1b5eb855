#include "runtime/input/stdin_source.h"

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

StdinSource::StdinSource(int fd, Format format, const Clock& clock, std::stop_token stop)
    : fd_(fd), format_(format), clock_(clock), stop_(std::move(stop)) {
  if (format_ == Format::kAuto && isatty(fd)) format_ = Format::kPlainText;
  reader_ = std::jthread([this](const std::stop_token& destroyed) {
    std::exception_ptr failure;
    try {
      read_all(StoppablePoll(destroyed));
    } catch (const Interrupted&) {
      return;
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (!failure && !transcripts_.empty() && !transcripts_.back().is_final &&
        !is_blank(transcripts_.back().text)) {
      push_locked(transcripts_.back().text, true);
    }
    failure_ = failure;
    ended_ = true;
    arrived_.notify_all();
  });
}

void StdinSource::read_all(const StoppablePoll& poll) {
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

void StdinSource::push(const std::string& text, bool is_final) {
  const std::lock_guard lock(mutex_);
  push_locked(text, is_final);
}

void StdinSource::push_locked(const std::string& text, bool is_final) {
  transcripts_.push_back(
      {.text = text, .revision = ++num_transcripts_, .time = clock_.now(), .is_final = is_final});
  arrived_.notify_all();
}

std::optional<Transcript> StdinSource::newest_locked(Seconds now) const {
  std::optional<Transcript> newest;
  for (const Transcript& transcript : transcripts_) {
    if (transcript.time > now) break;
    newest = transcript;
    if (transcript.is_final) break;
  }
  return newest;
}

std::optional<Transcript> StdinSource::latest(Seconds now) {
  throw_if_stopped(stop_);
  const std::lock_guard lock(mutex_);
  return newest_locked(now);
}

std::optional<Transcript> StdinSource::wait_newer(int64_t revision, Clock& clock) {
  std::unique_lock lock(mutex_);
  std::optional<Transcript> newest;
  const auto is_newer = [&] {
    newest = newest_locked(clock.now());
    return newest && newest->revision > revision;
  };
  arrived_.wait(lock, stop_, [&] { return is_newer() || ended_; });
  throw_if_stopped(stop_);
  if (!is_newer()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  while (newest->is_final && !transcripts_.empty() &&
         transcripts_.front().revision <= newest->revision) {
    transcripts_.pop_front();
  }
  return newest;
}

}  // namespace predgen
