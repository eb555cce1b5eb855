#include "hear/ears_frames.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/json.h"

namespace predgen {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kHeader = 1 + 2 * sizeof(uint32_t);  // type, stream, length
constexpr std::string_view kTypes = "SEX?RHD!F";
constexpr float kLoudest = 64;  // of samples meant to be in [-1,1]

uint32_t number_at(std::string_view bytes) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::string bytes_of(uint32_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

int64_t count_of(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_integer()) throw UserError("a number of it is none");
  const auto count = value.get<int64_t>();
  if (count < 0) throw UserError("a number of it is negative");
  return count;
}

HeardVoice voice_from(const Json& json) {
  HeardVoice voice{.is_active = json.at("active").get<bool>(),
                   .since = count_of(json, "since"),
                   .until = count_of(json, "until"),
                   .is_in_words = json.at("in_words").get<bool>()};
  if (json.contains("heard")) voice.heard = count_of(json, "heard");
  if (!json.contains("end")) return voice;
  voice.end = json.at("end").get<double>();
  const bool is_probability = *voice.end >= 0 && *voice.end <= 1;
  if (!is_probability) throw UserError("a probability is not in [0,1]");
  return voice;
}

}  // namespace

std::string to_bytes(const EarsFrame& frame) {
  if (frame.payload.size() > kMaxEarsPayload) {
    throw Error("a frame for predgen-ears has {} bytes", frame.payload.size());
  }
  std::string bytes(1, static_cast<char>(frame.type));
  bytes += bytes_of(frame.stream) + bytes_of(static_cast<uint32_t>(frame.payload.size()));
  return bytes + frame.payload;
}

std::optional<EarsFrame> EarsFrameReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  if (rest.empty()) {
    bytes_.clear();
    begin_ = 0;
    return std::nullopt;
  }
  if (kTypes.find(rest[0]) == std::string_view::npos) {
    throw UserError("a frame has the unknown type {}", static_cast<int>(rest[0]));
  }
  if (rest.size() < kHeader) return std::nullopt;
  const size_t length = number_at(rest.substr(5));
  if (length > kMaxEarsPayload) {
    throw UserError("a frame has {} bytes, and may have {}", length, kMaxEarsPayload);
  }
  if (rest.size() < kHeader + length) return std::nullopt;
  EarsFrame frame{.type = static_cast<EarsFrame::Type>(rest[0]),
                  .stream = number_at(rest.substr(1)),
                  .payload = std::string(rest.substr(kHeader, length))};
  begin_ += kHeader + length;
  if (begin_ > bytes_.size() / 2) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  return frame;
}

std::string samples_to_bytes(std::span<const float> samples) {
  return {reinterpret_cast<const char*>(samples.data()), samples.size_bytes()};
}

std::vector<float> samples_from_bytes(std::string_view bytes) {
  if (bytes.size() % sizeof(float) != 0) {
    throw UserError("sound has {} bytes, which are no 32-bit samples", bytes.size());
  }
  std::vector<float> samples(bytes.size() / sizeof(float));
  if (!samples.empty()) std::memcpy(samples.data(), bytes.data(), bytes.size());
  for (float& sample : samples) {
    if (!(std::abs(sample) <= kLoudest)) sample = 0;
  }
  return samples;
}

std::string segment_to_json(const RecognisedSegment& segment) {
  Json json{{"segment", segment.number}, {"text", segment.text}, {"over", segment.is_over}};
  if (segment.voice) {
    const HeardVoice& voice = *segment.voice;
    json["voice"] = {{"active", voice.is_active},
                     {"since", voice.since},
                     {"until", voice.until},
                     {"in_words", voice.is_in_words}};
    if (voice.end) json["voice"]["end"] = *voice.end;
    if (voice.heard) json["voice"]["heard"] = *voice.heard;
  }
  return to_text(json);
}

RecognisedSegment segment_from_json(const std::string& json) {
  check_json_depth(json, "it");
  const Json parsed = Json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) throw UserError("it is no JSON object");
  try {
    RecognisedSegment segment{.text = parsed.at("text").get<std::string>(),
                              .number = count_of(parsed, "segment"),
                              .is_over = parsed.at("over").get<bool>()};
    if (parsed.contains("voice")) segment.voice = voice_from(parsed.at("voice"));
    return segment;
  } catch (const Json::exception&) {
    throw UserError("it lacks a field, or one of them is of another kind");
  }
}

}  // namespace predgen
