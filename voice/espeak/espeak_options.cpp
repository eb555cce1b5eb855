#include "voice/espeak/espeak_options.h"

namespace predgen {

EspeakOptions read_espeak_options(ConfigReader& reader) {
  EspeakOptions options;
  reader.optional("voice", options.voice);
  reader.optional("words_per_minute", options.words_per_minute, int64_t{80}, int64_t{450});
  reader.optional("pitch", options.pitch, int64_t{0}, int64_t{100});
  return options;
}

}  // namespace predgen
