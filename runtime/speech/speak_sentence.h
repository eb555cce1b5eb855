#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "voice/speech_synthesizer.h"

namespace predgen {

/// Has `voice` say one sentence of an answer's text, in the spoken form of its language; does
/// nothing if that has no word. `goes_on` is asked before each step, `take` gets the step's
/// samples, if any: false from either breaks the sentence off and is returned.
bool speak_sentence(SpeechSynthesizer& voice, std::string_view sentence,
                    const std::function<bool()>& goes_on,
                    const std::function<bool(std::span<const float>)>& take);

}  // namespace predgen
