#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "runtime/listen/audio_source.h"

namespace predgen {

/// A microphone through PortAudio. `device`: a part of its name; empty: the system's default.
/// `preferred_rate`: Hz; a device that does not record it gives the rate that it wants instead.
/// What nobody reads for a second is lost. UserError, with the devices that there are, if there is
/// none of that name, or this program was built without (-DPREDGEN_MICROPHONE=OFF).
std::unique_ptr<AudioSource> open_microphone(const std::string& device, int preferred_rate,
                                             std::stop_token stop);

}  // namespace predgen
