#include "voice/espeak/espeak_phonemes.h"

#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"

namespace predgen {

EspeakPhonemes::EspeakPhonemes(const std::filesystem::path& program, Seconds timeout,
                               const std::string& user)
    : helper_(program, timeout, user) {
  helper_.start();
}

std::vector<std::string> EspeakPhonemes::pronounce(const std::vector<std::string>& words,
                                                   const std::string& language) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0) spdlog::warn("the espeak helper ended; starting it again");
    if (!helper_.request({{"words", words}, {"language", language}})) continue;
    std::string answer;
    for (auto frame = helper_.receive(); frame; frame = helper_.receive()) {
      if (frame->type == EspeakFrame::Type::kPhonemes) answer = std::move(frame->payload);
      if (frame->type != EspeakFrame::Type::kDone) continue;
      auto pronounced =
          parse_json(answer, "the espeak helper's answer").get<std::vector<std::string>>();
      if (pronounced.size() != words.size()) {
        throw Error("the espeak helper pronounced {} of {} words", pronounced.size(), words.size());
      }
      return pronounced;
    }
  }
  throw Error("the espeak helper ends on a sentence of {} parts", words.size());
}

}  // namespace predgen
