#include "hear/make_recogniser.h"

#include "core/speech_model.h"
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

}  // namespace predgen
