#include "serve/wyoming/wyoming_event.h"

#include <algorithm>
#include <utility>

#include "audio/sample_encoding.h"
#include "core/error.h"
#include "core/json.h"
#include "hear/recogniser.h"

namespace predgen::serve {
namespace {

Json parse_object(std::string_view text, const char* what) {
  Json json = parse_client_json(text, what);
  if (!json.is_object()) throw UserError("{}: must be a JSON object", what);
  return json;
}

}  // namespace

std::string to_bytes(const WyomingEvent& event) {
  Json header{{"type", event.type}};
  const std::string data = event.data.empty() ? "" : to_text(event.data);
  if (!data.empty()) header["data_length"] = data.size();
  if (!event.payload.empty()) header["payload_length"] = event.payload.size();
  return to_text(header) + "\n" + data + event.payload;
}

std::optional<WyomingEvent> WyomingParser::next() {
  if (!event_) {
    const size_t end = buffer_.find('\n');
    if (std::min(end, buffer_.size()) > limits_.header_bytes) {
      throw UserError("an event's line may have {} bytes", limits_.header_bytes);
    }
    if (end == std::string::npos) return std::nullopt;
    read_header(std::string_view(buffer_).substr(0, end));
    buffer_.erase(0, end + 1);
  }
  if (buffer_.size() < data_length_ + payload_length_) return std::nullopt;
  if (data_length_ > 0) {
    const auto data = std::string_view(buffer_).substr(0, data_length_);
    event_->data.update(parse_object(data, "an event's data"));
  }
  event_->payload = buffer_.substr(data_length_, payload_length_);
  buffer_.erase(0, data_length_ + payload_length_);
  return std::exchange(event_, std::nullopt);
}

void WyomingParser::read_header(std::string_view line) {
  const char* const what = "an event's line";
  const Json header = parse_object(line, what);
  WyomingEvent event{.type = json_get<std::string>(header, "type", what)};
  if (const auto data = header.find("data"); data != header.end() && !data->is_null()) {
    if (!data->is_object()) fail_json_key("data", what, "must be an object");
    event.data = *data;
  }
  data_length_ = read_length(header, "data_length");
  payload_length_ = read_length(header, "payload_length");
  event_ = std::move(event);
}

size_t WyomingParser::read_length(const Json& header, const char* key) const {
  const auto length = header.find(key);
  if (length == header.end() || length->is_null()) return 0;
  if (!length->is_number_unsigned() || length->get<uint64_t>() > limits_.body_bytes) {
    fail_json_key(key, "an event's line",
                  fmt::format("must be a number of bytes, {} at most", limits_.body_bytes));
  }
  return length->get<size_t>();
}

namespace {

constexpr int kLowestRate = 8000, kHighestRate = 48000;

}  // namespace

void WyomingSound::begin(const Json& format, const std::string& event) {
  const auto number = [&](const char* key) { return json_get<int>(format, key, event); };
  const int rate = number("rate"), width = number("width"), channels = number("channels");
  if (width != 2 || channels < 1 || channels > 2 || rate < kLowestRate || rate > kHighestRate) {
    throw UserError("{}: sound must have 16 bits, 1 or 2 channels and {} to {} Hz", event,
                    kLowestRate, kHighestRate);
  }
  rate_ = rate;
  channels_ = channels;
  resampler_.reset();
  if (rate != kRecogniserRate) resampler_.emplace(rate, kRecogniserRate);
}

std::vector<float> WyomingSound::add(const std::string& pcm) {
  const WavStream sound{.sample_rate = rate_, .num_channels = static_cast<size_t>(channels_)};
  std::vector<float> samples = sound.mono(pcm);
  if (resampler_) resampler_->add(std::exchange(samples, {}), samples);
  return samples;
}

std::vector<float> WyomingSound::finish() {
  std::vector<float> rest;
  if (resampler_) resampler_->finish(rest);
  return rest;
}

}  // namespace predgen::serve
