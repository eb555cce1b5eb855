#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/helper_process.h"
#include "core/json.h"

namespace predgen {

/// A piece of the helper's answer to a request.
struct EspeakFrame {
  enum class Type { kAudio, kPhonemes, kNames, kDone };
  Type type = Type::kDone;
  std::string payload;  // as voice/espeak/program/README.md says
};

/// Thrown if espeak-ng lacks the voice or language that a request names.
class UnknownEspeakVoice : public UserError {
 public:
  using UserError::UserError;
};

/// The program predgen-espeak, which answers one request at a time. Used by one thread at a time.
/// After an exception other than UserError it is stopped, because its remaining output belongs to
/// no request.
class EspeakHelper {
 public:
  /// Only checks that the program exists: otherwise UserError, which says that `user` needs it.
  /// Empty `program`: predgen-espeak beside this program. `timeout`: for every frame.
  EspeakHelper(const std::filesystem::path& program, Seconds timeout, const std::string& user);

  /// Whether the program is next to this one.
  static bool is_there();

  /// Starts the program if it is not running. UserError if it cannot speak.
  void start();
  void stop() { process_.reset(); }

  /// Starts the program if needed, drops any pending answer, sends `request`. False: it ended.
  bool request(const Json& request);

  /// The next frame of the answer; none if the program has ended. UnknownEspeakVoice, or Error if
  /// it failed or did not answer in time.
  std::optional<EspeakFrame> receive();

  int sample_rate() const { return sample_rate_; }               // Hz; known after start()
  pid_t pid() const { return process_ ? process_->pid() : -1; }  // -1: not running

 private:
  struct Frame {
    char type = 0;
    std::string payload;
  };
  std::optional<Frame> read_frame();
  void drop_answer();

  std::filesystem::path program_;
  Seconds timeout_;
  std::unique_ptr<HelperProcess> process_;
  bool answering_ = false;  // frames of the last request are still to come
  int sample_rate_ = 0;
};

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
