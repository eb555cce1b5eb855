#include "serve/wyoming/wyoming_client.h"

#include <utility>

#include "core/error.h"
#include "serve/main_language.h"
#include "serve/new_id.h"

namespace predgen::serve {
namespace {

constexpr size_t kMaxIdBytes = 256;

std::string text_of(const Json& data, const char* what) {
  return json_get<std::string>(data, "text", what);
}

/// nullopt: there is none.
std::optional<std::string> optional_text(const Json& data, const char* key, const char* what) {
  const auto found = data.find(key);
  if (found == data.end() || found->is_null()) return std::nullopt;
  return json_get<std::string>(data, key, what);
}

Json context_of(const Json& data) {
  const auto context = data.find("context");
  if (context == data.end() || context->is_null()) return Json::object();
  if (!context->is_object()) fail_json_key("context", "an event", "must be an object");
  return *context;
}

}  // namespace

WyomingClient::~WyomingClient() {
  voice_.reset();
  hearing_.reset();
  leave();
}

const std::map<std::string, WyomingClient::Action>& WyomingClient::actions() {
  using Self = WyomingClient;
  static const std::map<std::string, Action> kActions{
      {"describe", &Self::describe},
      {"ping", &Self::ping},
      {"transcript-start", &Self::begin_transcript},
      {"transcript-chunk", &Self::add_transcript},
      {"transcript", &Self::finish_transcript},
      {"transcript-stop", &Self::stop_transcript},
      {"synthesize", &Self::synthesize},
      {"synthesize-start", &Self::begin_synthesis},
      {"synthesize-chunk", &Self::add_synthesis},
      {"synthesize-stop", &Self::stop_synthesis},
      {"transcribe", &Self::transcribe},
      {"audio-start", &Self::begin_sound},
      {"audio-stop", &Self::stop_sound},
      // Senders of these wait for an answer.
      {"recognize", &Self::refuse},
      {"detect", &Self::refuse},
  };
  return kActions;
}

void WyomingClient::take(const WyomingEvent& event) {
  if (event.type == "audio-chunk") return hearing().add(event.payload);
  const auto action = actions().find(event.type);
  if (action != actions().end()) (this->*action->second)(event.data);
}

void WyomingClient::drain() {
  is_draining_ = true;
  close_if_drained();
}

void WyomingClient::close_if_drained() {
  if (is_draining_ && num_under_way_ == 0) sender_.close();
}

void WyomingClient::finish_one() {
  --num_under_way_;
  close_if_drained();
}

void WyomingClient::describe(const Json&) { sender_.send(info_event(host_.offer)); }

void WyomingClient::ping(const Json& data) {
  const auto text = optional_text(data, "text", "ping");
  sender_.send({.type = "pong", .data = {{"text", text ? Json(*text) : Json()}}});
}

void WyomingClient::refuse(const Json&) {
  throw UserError("by Wyoming there are asr, handle and tts here: no intents and no wake words");
}

bool WyomingClient::enter(const Json& data, const std::string& text) {
  Json context = context_of(data);
  const auto id = optional_text(context, "conversation_id", "context");
  if (id && id->size() > kMaxIdBytes) {
    throw UserError("a conversation_id may have {} bytes", kMaxIdBytes);
  }
  if (is_asked_) {
    tell(ApiError({}, "the answer before is under way: wait for it, or connect once more"),
         context);
    return false;
  }
  if (has_turn_ && (!id || *id == context_["conversation_id"])) return true;
  leave();
  context["conversation_id"] = id ? *id : new_id("conv_");
  has_turn_ = true;  // until on_end, which any thread may call from here on
  try {
    conversation_ = host_.conversations.enter(context["conversation_id"],
                                              {.sender = &sender_,
                                               .peer = peer_,
                                               .has_id = id.has_value(),
                                               .context = context,
                                               .on_end =
                                                   [this] {
                                                     has_turn_ = false;
                                                     was_asked_ = is_asked_.exchange(false);
                                                   },
                                               .on_done =
                                                   [this] {
                                                     if (was_asked_) finish_one();
                                                   },
                                               .on_opening =
                                                   [this](const std::string& sentence) {
                                                     if (host_.ahead) host_.ahead->expect(sentence);
                                                   }},
                                              text);
  } catch (const ApiError& error) {
    has_turn_ = false;
    tell(error, context);
    return false;
  }
  context_ = std::move(context);
  return true;
}

void WyomingClient::hear(const TranscriptLine& line) {
  try {
    if (line.is_final) {
      ++num_under_way_;
      is_asked_ = true;
    }
    if (has_turn_) return conversation_->hear(line);
    // The conversation has broken, and the client was told.
    if (is_asked_.exchange(false)) finish_one();
  } catch (const ApiError& error) {
    leave();
    ignores_words_ = words_.has_value();  // the rest of a lost turn
    words_.reset();
    tell(error, context_);
  }
}

void WyomingClient::leave() {
  if (conversation_ && conversation_->leave(sender_) && is_asked_) --num_under_way_;
  conversation_.reset();
  has_turn_ = is_asked_ = false;
}

void WyomingClient::tell(const ApiError& error, const Json& context) {
  sender_.send({.type = "not-handled", .data = {{"text", error.what()}, {"context", context}}});
  close_if_drained();
}

void WyomingClient::begin_transcript(const Json& data) {
  if (!is_asked_) leave();  // words that had no end
  words_ = enter(data) ? std::optional<std::string>("") : std::nullopt;
  ignores_words_ = !words_;
}

void WyomingClient::add_transcript(const Json& data) {
  const std::string text = text_of(data, "transcript-chunk");
  if (ignores_words_) return;
  if (!words_) throw UserError("transcript-chunk: transcript-start is missing");
  if (words_->size() + text.size() > static_cast<size_t>(host_.limits.message_bytes)) {
    throw UserError("a transcript may have {} bytes", host_.limits.message_bytes);
  }
  *words_ += text;
  hear({.text = *words_});
}

void WyomingClient::finish_transcript(const Json& data) {
  const std::string text = text_of(data, "transcript");
  words_.reset();
  if (std::exchange(ignores_words_, false)) return;  // the client was told
  if (enter(data, text)) hear({.text = text, .is_final = true});
}

void WyomingClient::stop_transcript(const Json&) {
  ignores_words_ = false;
  if (!words_) return;  // its transcript has come
  hear({.text = *std::exchange(words_, std::nullopt), .is_final = true});
}

WyomingHearing& WyomingClient::hearing() {
  if (!host_.offer.has_recogniser) {
    throw UserError("there is no recogniser here: start it with --recogniser base");
  }
  if (!hearing_) hearing_.emplace(host_, sender_, peer_, [this] { finish_one(); });
  return *hearing_;
}

void WyomingClient::transcribe(const Json& data) {
  hearing();
  const std::string language = optional_text(data, "language", "transcribe").value_or("");
  if (!is_heard(language, host_.offer.language)) {
    throw UserError("language {}: {} is heard here; start it with --language", language,
                    host_.offer.language);
  }
}

void WyomingClient::begin_sound(const Json& data) { hearing().begin(data); }

void WyomingClient::stop_sound(const Json&) {
  ++num_under_way_;
  hearing().end();
}

WyomingVoice& WyomingClient::voice() {
  if (!host_.offer.voice) throw UserError("there is no voice here: start it with --tts");
  if (!voice_) {
    voice_.emplace(*host_.offer.voice, host_.ahead, host_.limits.message_bytes, sender_,
                   [this] { finish_one(); });
  }
  return *voice_;
}

void WyomingClient::begin_text(const Json& data, bool is_stream) {
  WyomingVoice& voice = this->voice();
  const std::string name = voice_name(data);
  ++num_under_way_;
  voice.begin(name, is_stream);
}

std::string WyomingClient::voice_name(const Json& data) const {
  const char* const what = "synthesize";
  if (const auto format = optional_text(data, "text_format", what);
      format.value_or("text") != "text")
    throw UserError("text_format {}: only text is spoken here", *format);
  const auto voice = data.find("voice");
  if (voice == data.end() || voice->is_null()) return {};
  if (!voice->is_object()) fail_json_key("voice", what, "must be an object");
  if (const auto speaker = optional_text(*voice, "speaker", what)) {
    throw UserError("voice.speaker {}: voices have one speaker here", *speaker);
  }
  if (const auto name = optional_text(*voice, "name", what)) return *name;
  const std::string language = optional_text(*voice, "language", what).value_or("");
  for (const std::string& name : host_.offer.voice->names()) {
    if (host_.offer.voice->language(name) == language) return name;
  }
  return language;
}

void WyomingClient::synthesize(const Json& data) {
  const std::string text = text_of(data, "synthesize");
  if (has_stream_) return;  // it came in pieces
  begin_text(data, /*is_stream=*/false);
  voice().add(text);
  voice().end();
}

void WyomingClient::begin_synthesis(const Json& data) {
  if (std::exchange(has_stream_, true)) throw UserError("synthesize-start: there was no stop");
  begin_text(data, /*is_stream=*/true);
}

void WyomingClient::add_synthesis(const Json& data) {
  if (!has_stream_) throw UserError("synthesize-chunk: synthesize-start is missing");
  voice().add(text_of(data, "synthesize-chunk"));
}

void WyomingClient::stop_synthesis(const Json&) {
  if (!std::exchange(has_stream_, false)) {
    throw UserError("synthesize-stop: synthesize-start is missing");
  }
  voice().end();
}

}  // namespace predgen::serve
