#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/clock.h"
#include "voice/espeak/espeak_helper.h"

namespace predgen {

/// How words are pronounced, by espeak-ng in its helper. One thread at a time.
class EspeakPhonemes {
 public:
  /// Starts the helper. UserError, which says that `user` needs it, if it is missing. `timeout`:
  /// for all words of a request.
  EspeakPhonemes(const std::filesystem::path& program, Seconds timeout, const std::string& user);

  /// espeak's raw answer for each entry, pronounced without its neighbours: one word, or several,
  /// as in a clause. A helper that ends is restarted once. UnknownEspeakVoice for a language that
  /// espeak-ng does not have.
  std::vector<std::string> pronounce(const std::vector<std::string>& words,
                                     const std::string& language);

 private:
  EspeakHelper helper_;
};

}  // namespace predgen
