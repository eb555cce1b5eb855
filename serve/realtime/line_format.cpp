#include "serve/realtime/line_format.h"

#include <algorithm>
#include <optional>

#include "audio/sample_encoding.h"

namespace predgen::serve {
namespace {

using Encoding = LineFormat::Encoding;

constexpr int kTelephoneRate = 8000, kFastest = 48'000;  // Hz

/// An encoding in the words of the API.
struct EncodingName {
  Encoding encoding;
  const char* name;  // today's
  const char* beta_name;
};
constexpr EncodingName kEncodings[] = {{Encoding::kPcm16, "audio/pcm", "pcm16"},
                                       {Encoding::kULaw, "audio/pcmu", "g711_ulaw"},
                                       {Encoding::kALaw, "audio/pcma", "g711_alaw"}};

Encoding encoding_named(const Json& name, const std::string& where) {
  const auto found = std::ranges::find_if(kEncodings, [&](const EncodingName& one) {
    return name == one.name || name == one.beta_name;
  });
  if (found != std::ranges::end(kEncodings)) return found->encoding;
  RequestFields::fail_unsupported(where, "must be audio/pcm, audio/pcmu or audio/pcma");
}

std::optional<Resampler> resampler(int from_rate, int to_rate) {
  if (from_rate == to_rate) return std::nullopt;
  return Resampler(from_rate, to_rate);
}

std::vector<float> samples_in(std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::kPcm16) return from_pcm16(bytes);
  const auto decode = encoding == Encoding::kULaw ? from_ulaw : from_alaw;
  std::vector<float> samples(bytes.size());
  std::ranges::transform(bytes, samples.begin(), [&](char byte) {
    return static_cast<float>(decode(static_cast<uint8_t>(byte))) / 32768.0f;
  });
  return samples;
}

std::string bytes_in(std::span<const int16_t> samples, Encoding encoding) {
  if (encoding == Encoding::kPcm16) return std::string(bytes_of(samples));
  const auto encode = encoding == Encoding::kULaw ? to_ulaw : to_alaw;
  std::string bytes(samples.size(), '\0');
  std::ranges::transform(samples, bytes.begin(),
                         [&](int16_t sample) { return static_cast<char>(encode(sample)); });
  return bytes;
}

}  // namespace

Json LineFormat::json() const {
  if (encoding == Encoding::kPcm16) return {{"type", "audio/pcm"}, {"rate", rate}};
  return {{"type", encoding == Encoding::kULaw ? "audio/pcmu" : "audio/pcma"}};
}

LineFormat read_line_format(RequestFields& fields, const std::string& name,
                            const LineFormat& before) {
  const Json& value = fields.any(name);
  if (value.is_null()) return before;
  const std::string where = fields.full_name(name);
  LineFormat format;
  std::optional<int64_t> rate;
  if (value.is_string()) {
    format.encoding = encoding_named(value, where);
  } else {
    RequestFields parts = fields.object(name);
    format.encoding = encoding_named(parts.any("type"), where);
    rate = parts.integer("rate", kTelephoneRate, kFastest);
    parts.finish();
  }
  const bool is_pcm = format.encoding == Encoding::kPcm16;
  if (!is_pcm && rate.value_or(kTelephoneRate) != kTelephoneRate) {
    RequestFields::fail_unsupported(where, "has 8000 Hz, if it is one of a telephone");
  }
  format.rate = static_cast<int>(rate.value_or(is_pcm ? kRealtimeRate : kTelephoneRate));
  return format;
}

LineDecoder::LineDecoder(const LineFormat& format)
    : format_(format), resampler_(resampler(format.rate, kRealtimeRate)) {}

std::vector<float> LineDecoder::decode(std::string_view bytes) {
  half_ += bytes;
  const size_t size = format_.encoding == Encoding::kPcm16 ? half_.size() / 2 * 2 : half_.size();
  std::vector<float> samples =
      samples_in(std::string_view(half_).substr(0, size), format_.encoding);
  half_.erase(0, size);
  if (!resampler_) return samples;
  std::vector<float> resampled;
  resampler_->add(samples, resampled);
  return resampled;
}

std::vector<float> LineDecoder::finish() {
  half_.clear();
  std::vector<float> rest;
  if (resampler_) resampler_->finish(rest);
  return rest;
}

void LineDecoder::clear() {
  half_.clear();
  if (resampler_) resampler_->clear();
}

LineEncoder::LineEncoder(const LineFormat& format)
    : format_(format), resampler_(resampler(kRealtimeRate, format.rate)) {}

std::string LineEncoder::encode(std::span<const int16_t> samples) {
  if (!resampler_) return bytes_in(samples, format_.encoding);
  std::vector<float> resampled;
  resampler_->add(from_pcm16(bytes_of(samples)), resampled);
  return bytes_in(to_pcm16(resampled), format_.encoding);
}

std::string LineEncoder::finish() {
  if (!resampler_) return {};
  std::vector<float> rest;
  resampler_->finish(rest);
  return bytes_in(to_pcm16(rest), format_.encoding);
}

}  // namespace predgen::serve
