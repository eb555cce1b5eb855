#include "serve/wyoming/wyoming_host.h"

namespace predgen::serve {
namespace {

Json artifact(const std::string& name, const std::string& description, const std::string& version) {
  return {{"name", name},
          {"attribution", {{"name", "predgen"}, {"url", ""}}},
          {"installed", true},
          {"description", description},
          {"version", version}};
}

}  // namespace

WyomingEvent info_event(const WyomingOffer& offer) {
  Json info;
  for (const char* domain : {"asr", "tts", "handle", "intent", "wake", "mic", "snd"}) {
    info[domain] = Json::array();
  }
  const Json languages = Json::array({offer.language});
  Json model = artifact(offer.model, offer.model, offer.version);
  model["languages"] = languages;  // Home Assistant offers an agent for those alone
  Json handle = artifact("predgen", "answers of " + offer.model, offer.version);
  handle["models"] = Json::array({model});
  handle["supports_handled_streaming"] = true;
  handle["supports_home_control"] = offer.has_tools;
  info["handle"].push_back(handle);
  if (offer.has_recogniser) {
    Json asr = artifact("predgen", "speech to text, which begins the answer", offer.version);
    Json recogniser = artifact("predgen", "the recogniser of predgen serve", offer.version);
    recogniser["languages"] = languages;
    asr["models"] = Json::array({recogniser});
    asr["supports_transcript_streaming"] = false;
    info["asr"].push_back(asr);
  }
  if (offer.voice) {
    Json tts = artifact("predgen", "the voice " + offer.voice->names().front(), offer.version);
    for (const std::string& name : offer.voice->names()) {
      Json voice = artifact(name, name, offer.version);
      voice["languages"] = Json::array({offer.voice->language(name)});
      voice["speakers"] = nullptr;
      tts["voices"].push_back(voice);
    }
    tts["supports_synthesize_streaming"] = true;
    info["tts"].push_back(tts);
  }
  return {.type = "info", .data = info};
}

}  // namespace predgen::serve
