#include "runtime/speech/speak_sentence.h"

#include <string>
#include <vector>

#include "text/spoken/speech_text.h"

namespace predgen {

bool speak_sentence(SpeechSynthesizer& voice, std::string_view sentence,
                    const std::function<bool()>& goes_on,
                    const std::function<bool(std::span<const float>)>& take) {
  const std::string spoken = speakable_text(sentence, voice.language());
  if (spoken.empty()) return true;
  const auto synthesis = voice.begin(spoken);
  std::vector<float> samples;
  for (bool has_more = true; has_more; samples.clear()) {
    if (!goes_on()) return false;
    has_more = synthesis->advance(samples);
    if (!samples.empty() && !take(samples)) return false;
  }
  return true;
}

}  // namespace predgen
