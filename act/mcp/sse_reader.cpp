#include "act/mcp/sse_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "act/mcp/transport.h"

namespace predgen::act {

std::vector<SseEvent> SseReader::push(std::string_view bytes) {
  std::vector<SseEvent> events;
  for (const char byte : bytes) {
    const bool is_second = byte == '\n' && was_return_;  // of "\r\n"
    was_return_ = byte == '\r';
    if (is_second) continue;
    if (byte == '\n' || byte == '\r') {
      take_line(events);
      line_.clear();
    } else {
      line_ += byte;
    }
    if (line_.size() + data_.size() > kMaxMessageBytes) {
      throw ServerError("has sent more than {} MiB", kMaxMessageBytes >> 20);
    }
  }
  return events;
}

void SseReader::take_line(std::vector<SseEvent>& events) {
  if (line_.empty()) {
    if (has_data_ && !data_.empty()) events.push_back({type_, data_});
    type_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  const std::string_view line = line_;
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
  } else if (field == "event") {
    type_ = value;
  } else if (field == "id") {
    const bool is_header = std::ranges::all_of(value, [](char c) { return c > ' ' && c < 127; });
    if (is_header && value.size() <= 256) last_id_ = value;
  } else if (field == "retry") {
    int64_t milliseconds = 0;
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (error == std::errc() && milliseconds >= 0) {
      retry_s_ = static_cast<double>(milliseconds) / 1e3;
    }
  }
}

}  // namespace predgen::act
