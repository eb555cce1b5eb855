#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "audio/audio_source.h"

namespace predgen {

/// A microphone through PortAudio. `device`: a part of its name; empty: the system's default.
/// `preferred_rate`: Hz; a device that cannot record at it uses its own rate instead. Sound that is
/// not read for a second is lost (DeviceSound). The clock is borrowed. UserError if no device has
/// that name, with a list of the devices, or if this program was built without microphones
/// (-DPREDGEN_MICROPHONE=OFF).
std::unique_ptr<AudioSource> open_microphone(const std::string& device, int preferred_rate,
                                             Clock& clock, std::stop_token stop);

/// The names of all microphones, for `device`; none without microphones or sound.
std::vector<std::string> microphone_names();

}  // namespace predgen
