#pragma once

#include <stop_token>

#include "voice/dac/dac_codec.h"
#include "voice/zonos/code_generation.h"

namespace predgen {

/// The cost of speaking on this machine. Its two parts run sequentially.
struct ZonosSpeed {
  double seconds_per_step = 0;        // median, per column of codes
  double steps_per_second = 0;        // of sound
  double codec_real_time_factor = 0;  // seconds of work for a second of sound

  /// Seconds of work, steps and codec together, per second of sound: below 1 the voice keeps up.
  double real_time_factor() const {
    return seconds_per_step * steps_per_second + codec_real_time_factor;
  }
};

/// Runs some columns after a short text, and the codec in the same pieces in which a sentence
/// is decoded; weights may have any values. Throws Interrupted after a stop.
ZonosSpeed measure_zonos(const ZonosModel& model, const DacDecoder& decoder,
                         const CodeGenerationConfig& config, const std::stop_token& stop);

}  // namespace predgen
