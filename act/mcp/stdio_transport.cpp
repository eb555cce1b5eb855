#include "act/mcp/stdio_transport.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/stop.h"
#include "core/text.h"

namespace predgen::act {
namespace {

constexpr Seconds kGrace{1};
constexpr double kSendSeconds = 5;  // a server that reads nothing for so long is lost
constexpr size_t kErrorBytes = 2048;

HelperOptions helper_options(const ServerEntry& server) {
  return {.arguments = server.arguments,
          .niceness = 0,
          .environment = server.environment,
          .folder = server.folder,
          .keeps_errors = true,
          .grace = kGrace};
}

/// The last line that says something.
std::string last_line_of(std::string_view text) {
  const std::string_view whole = trimmed(text);
  const size_t begin = whole.rfind('\n');
  std::string line(trimmed(begin == std::string_view::npos ? whole : whole.substr(begin + 1)));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c >= 127; }, '?');
  return shortened(line, 300);
}

}  // namespace

StdioTransport::StdioTransport(const ServerEntry& server, MessageHandler& handler)
    : handler_(handler), process_(server.command, helper_options(server)) {}

StdioTransport::~StdioTransport() {
  ::shutdown(process_.socket(), SHUT_RDWR);  // which ends the reader
}

void StdioTransport::send(const Json& message, Deadline deadline, const std::stop_token& stop) {
  throw_if_stopped(stop);
  // Not before: the handler may answer what is read.
  std::call_once(is_reading_, [this] { reader_ = std::jthread([this] { read(); }); });
  const std::string line = to_text(message) + "\n";
  const Seconds left = deadline - std::chrono::steady_clock::now();
  const Lock lock(mutex_);
  try {
    // If it has ended, the reader tells why.
    process_.send(line, Seconds(std::clamp(left.count(), 0.001, kSendSeconds)));
  } catch (const Error&) {
    throw ServerError("does not read what it is sent");
  }
}

void StdioTransport::listen(const std::string&, const Json& subscription) {
  if (subscription.is_null()) return;
  send(subscription, std::chrono::steady_clock::now() + steady_seconds(kSendSeconds), {});
}

void StdioTransport::read() {
  bool has_errors = true;
  while (true) {
    pollfd ready[] = {{.fd = process_.socket(), .events = POLLIN, .revents = 0},
                      {.fd = has_errors ? process_.errors() : -1, .events = POLLIN, .revents = 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) break;
    if (ready[1].revents != 0) has_errors = read_errors();
    if (ready[0].revents != 0 && !read_output()) break;
  }
  // What it said last may come a little later than its end.
  pollfd last{.fd = process_.errors(), .events = POLLIN, .revents = 0};
  while (has_errors && ::poll(&last, 1, 100) > 0) has_errors = read_errors();
  const std::string why = last_line_of(errors_);
  handler_.on_end(why.empty() ? "has ended" : "has ended: " + why);
}

bool StdioTransport::read_output() {
  std::array<char, 1 << 16> bytes;
  const ssize_t count = ::recv(process_.socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count > 0) take({bytes.data(), static_cast<size_t>(count)});
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

bool StdioTransport::read_errors() {
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(process_.errors(), bytes.data(), bytes.size());
  if (count > 0) {
    errors_.append(bytes.data(), static_cast<size_t>(count));
    errors_ = errors_.substr(errors_.size() - std::min(errors_.size(), kErrorBytes));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

void StdioTransport::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > kMaxMessageBytes) is_too_large_ = true;
    if (is_too_large_) {
      line_.clear();
    } else {
      line_ += part;
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (is_too_large_) {
      handler_.on_too_large();
    } else if (!is_blank(line_)) {
      handler_.on_text(line_);
    }
    line_.clear();
    is_too_large_ = false;
  }
}

}  // namespace predgen::act
