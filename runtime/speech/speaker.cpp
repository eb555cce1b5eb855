#include "runtime/speech/speaker.h"

#include <string>
#include <utility>
#include <vector>

#include "core/stop.h"
#include "text/spoken/speech_text.h"

namespace predgen {

bool wait_until_heard(const Speaker& speaker, Clock& clock, const std::stop_token& stop) {
  constexpr Seconds kLook{0.02}, kStuck{1.0};
  Seconds played{-1}, since{0};
  while (const std::optional<SpokenAnswer> spoken = speaker.spoken()) {
    Seconds length{0};
    for (const SpokenAnswer::Sentence& sentence : spoken->sentences) length += sentence.length;
    if (spoken->played + kLook / 2 >= length) return true;
    const Seconds now = clock.now();
    if (std::exchange(played, spoken->played) != spoken->played) since = now;
    if (now - since > kStuck) return false;
    throw_if_stopped(stop);
    clock.sleep_until(now + kLook);
  }
  return true;
}

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
