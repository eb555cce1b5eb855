#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::act {

struct SseEvent {
  std::string type{}, data{};  // type: empty if the stream names none

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// Server-sent events out of the bytes of a stream
/// (https://html.spec.whatwg.org/#server-sent-events).
class SseReader {
 public:
  /// Those with data that are complete by now. ServerError for one of more than kMaxMessageBytes.
  std::vector<SseEvent> push(std::string_view bytes);

  /// A new stream goes on from here: what was left of the old one is dropped.
  void restart() {
    line_.clear();
    type_.clear();
    data_.clear();
    has_data_ = was_return_ = false;
  }

  /// Of the last event; empty: none.
  const std::string& last_id() const { return last_id_; }
  /// How long to wait before the stream is asked for again, if it says so.
  std::optional<double> retry_s() const { return retry_s_; }

 private:
  void take_line(std::vector<SseEvent>& events);

  std::string line_, type_, data_;
  bool has_data_ = false, was_return_ = false;
  std::string last_id_;
  std::optional<double> retry_s_;
};

}  // namespace predgen::act
