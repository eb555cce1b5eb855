#include "hear/transcripts/stdin_source.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"

namespace predgen {
namespace {

constexpr size_t kMaxWaiting = 256;  // transcripts that are read ahead

}  // namespace

StdinSource::StdinSource(int fd, Format format, const Clock& clock, std::stop_token stop)
    : fd_(fd), format_(format), stop_(std::move(stop)), queue_(clock) {
  if (format_ == Format::kAuto && isatty(fd)) format_ = Format::kPlainText;
  reader_ = std::jthread([this](const std::stop_token& destroyed) {
    try {
      read_all(StoppablePoll(destroyed), destroyed);
    } catch (const Interrupted&) {
      return;
    } catch (...) {
      return queue_.end(std::current_exception());
    }
    const std::string last = queue_.settle();
    if (!is_blank(last)) queue_.push(last, /*is_final=*/true);
    queue_.end();
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
      queue_.wait_for_room(kMaxWaiting, destroyed);
      throw_if_stopped(destroyed);
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
    queue_.push(std::string(words), /*is_final=*/true);
    return;
  }
  const std::string where = fmt::format("input line {}", line_number_);
  for (const TranscriptLine& parsed : parse_transcript_line(line, where, messages_)) {
    if (!filter_.is_stale(parsed)) queue_.push(parsed.text, parsed.is_final);
  }
}

std::optional<Transcript> StdinSource::latest(Seconds now) {
  throw_if_stopped(stop_);
  return queue_.latest(now);
}

std::optional<Transcript> StdinSource::wait_newer(int64_t revision, Clock&) {
  return queue_.take(revision, stop_);
}

}  // namespace predgen
