#include "hear/make_recogniser.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "core/model_names.h"
#include "hear/ears_recogniser.h"
#include "hear/sherpa_recogniser.h"

namespace predgen {
namespace {

constexpr const char* kBoth = "base+moonshine";

}  // namespace

MakeRecogniser recognisers_at(const std::string& url) {
  if (url.empty()) return {};
  return [place = parse_web_socket_url(url)](RecogniserHandler& handler) {
    return std::make_unique<SherpaRecogniser>(place, RecogniserLimits{}, handler);
  };
}

MakeRecogniser recognisers_here(const EarsOptions& options) {
  return [process = std::make_shared<EarsProcess>(options)](RecogniserHandler& handler) {
    return std::make_unique<EarsRecogniser>(process, handler);
  };
}

bool is_recogniser_url(const std::string& name) { return name.find(':') != std::string::npos; }

MakeRecogniser recognisers_named(const std::string& name, const std::string& language) {
  if (name.empty() || is_recogniser_url(name)) return recognisers_at(name);
  EarsOptions options{.recogniser = name,
                      .voice_activity = speech_model("silero"),
                      .end_of_turn = speech_model("smart-turn"),
                      .language = language};
  if (name == "base" || name == kBoth) options.recogniser = speech_model("whisper-base");
  if (name == "tiny") options.recogniser = speech_model("whisper-tiny.en");
  if (name == "moonshine") options.recogniser = speech_model("moonshine-tiny");
  if (name == kBoth) options.fast_recogniser = speech_model("moonshine-tiny");
  return recognisers_here(options);
}

std::string language_heard(const std::string& name, const std::string& language) {
  if (name == "tiny" || name == "moonshine" || name == kBoth) return "en";
  return name == "base" ? language : "";
}

namespace {

std::string address_problem(const std::string& recogniser) {
  try {
    if (is_recogniser_url(recogniser)) parse_web_socket_url(recogniser);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

EndWaits HearingOptions::waits() const {
  return {.shortest_ms = std::llround(shortest_wait * 1e3),
          .longest_ms = std::llround(longest_wait * 1e3)};
}

Settings settings_of(HearingOptions& options) {
  return {Setting("recogniser", options.recogniser,
                  "base or tiny (Whisper's), moonshine, base+moonshine (both), the folder of a "
                  "streaming sherpa-onnx model, the ws:// address of a sherpa-onnx server, or for "
                  "serve none, or auto: base if it is there")
              .checked([&options] { return address_problem(options.recogniser); }),
          {"language", options.language, "the language that is spoken; tiny has English only"},
          Setting("shortest_wait", options.shortest_wait, between(0.05, 10),
                  "seconds of pause that end a turn which sounds over")
              .checked([&options] {
                return options.shortest_wait <= options.longest_wait
                           ? std::string()
                           : fmt::format("{} is longer than longest_wait, {}",
                                         options.shortest_wait, options.longest_wait);
              }),
          {"longest_wait", options.longest_wait, between(0.05, 10),
           "seconds of pause that end one which does not"}};
}

}  // namespace predgen
