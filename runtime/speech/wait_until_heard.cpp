#include "runtime/speech/wait_until_heard.h"

#include <utility>

#include "core/stop.h"

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

}  // namespace predgen
