#include "voice/espeak/espeak_options.h"

namespace predgen {

Settings settings_of(EspeakOptions& options) {
  return {
      {"voice", options.voice,
       "`espeak-ng --voices` lists them; +f3, say, changes the speaker: en-us+f3"},
      {"words_per_minute", options.words_per_minute, between(kSlowestEspeak, kFastestEspeak), ""},
      {"pitch", options.pitch, between(0, 100), ""}};
}

}  // namespace predgen
