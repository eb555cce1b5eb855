#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hear/recogniser.h"

namespace predgen {

/// One message between us and the program predgen-ears; hear/asr/README.md has the protocol.
struct EarsFrame {
  enum class Type : char {
    // to the program
    kSound = 'S',
    kEnd = 'E',
    kDrop = 'X',
    kPing = '?',
    // from the program
    kReady = 'R',
    kHeard = 'H',
    kDone = 'D',
    kPong = '!',
    kFailure = 'F',
  };
  Type type = Type::kPing;
  uint32_t stream = 0;  // that it belongs to; 0: none
  std::string payload{};
};

constexpr size_t kMaxEarsPayload = 1 << 20;  // bytes

/// The frame as bytes. Error for a payload longer than kMaxEarsPayload.
std::string to_bytes(const EarsFrame& frame);

/// Parses bytes into frames. Used by one thread at a time.
class EarsFrameReader {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole one. UserError for bytes that begin no frame: nothing after is readable.
  std::optional<EarsFrame> next();
  /// Whether a part of a frame is left.
  bool is_inside() const { return begin_ < bytes_.size(); }

 private:
  std::string bytes_;
  size_t begin_ = 0;  // of what is not read yet
};

/// Samples as kSound carries them: 32-bit floats, little-endian.
std::string samples_to_bytes(std::span<const float> samples);
/// UserError for an incomplete sample; NaN and values far outside of [-1,1] become silence.
std::vector<float> samples_from_bytes(std::string_view bytes);

/// A segment as kHeard carries it: JSON.
std::string segment_to_json(const RecognisedSegment& segment);
/// UserError for anything else; the message does not quote it.
RecognisedSegment segment_from_json(const std::string& json);

}  // namespace predgen
