#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audio/resampler.h"
#include "core/json.h"
#include "serve/request_fields.h"

namespace predgen::serve {

constexpr int kRealtimeRate = 24000;  // Hz, of sound in a conversation

/// How sound goes over the line to and from a client: mono, in the API's three encodings.
struct LineFormat {
  enum class Encoding { kPcm16, kULaw, kALaw } encoding = Encoding::kPcm16;
  int rate = kRealtimeRate;  // Hz; of the laws always 8000

  bool operator==(const LineFormat&) const = default;
  /// As in session.created.
  Json json() const;
};

/// The field `name`, in today's form or the beta's; `before` if it is missing. ApiError for a
/// format that is not supported.
LineFormat read_line_format(RequestFields& fields, const std::string& name,
                            const LineFormat& before);

/// A client's sound, chunk by chunk, at kRealtimeRate. Used by one thread.
class LineDecoder {
 public:
  explicit LineDecoder(const LineFormat& format);

  const LineFormat& format() const { return format_; }
  /// Samples in [-1,1]. Half a sample waits for the next chunk.
  std::vector<float> decode(std::string_view bytes);
  /// The rest of the sound, which ends here; half a sample is forgotten.
  std::vector<float> finish();
  /// The sound so far is forgotten.
  void clear();

 private:
  const LineFormat format_;
  std::string half_;                    // of a sample
  std::optional<Resampler> resampler_;  // nullopt: the rate is kRealtimeRate
};

/// The sound of a response, from kRealtimeRate to what its client wants. Used by one thread.
class LineEncoder {
 public:
  explicit LineEncoder(const LineFormat& format);

  std::string encode(std::span<const int16_t> samples);
  /// The rest of the sound, which ends here.
  std::string finish();

 private:
  const LineFormat format_;
  std::optional<Resampler> resampler_;  // nullopt: the rate is kRealtimeRate
};

}  // namespace predgen::serve
