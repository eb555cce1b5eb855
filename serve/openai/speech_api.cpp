#include "serve/openai/speech_api.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audio/resampler.h"
#include "audio/sound_encoder.h"
#include "core/base64.h"
#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "runtime/speech/speaker.h"
#include "serve/api_error.h"
#include "serve/request_fields.h"
#include "text/sentence/sentence_end.h"
#include "text/spoken/speech_text.h"
#include "text/thoughts.h"

namespace predgen::serve {
namespace {

constexpr int64_t kMaxCharacters = 4096;  // as OpenAI has it

struct SpeechRequest {
  std::string input, voice;
  double speed = 1;
  SoundFormat format = SoundFormat::kMp3;
  bool has_events = false;  // otherwise it is a file
};

/// Whether it is called like OpenAI's speech models, which its clients request by default: tts-1,
/// gpt-4o-mini-tts, ..
bool is_foreign_model(const std::string& name) {
  return name.starts_with("tts-") || name.find("-tts") != std::string::npos;
}

SoundFormat read_format(RequestFields& fields) {
  const std::string asked = fields.text("response_format").value_or("mp3");
  std::string names;
  for (const auto& [name, format] : sound_formats()) {
    if (asked == name) return format;
    names = joined(names, ", ", name);
  }
  RequestFields::fail_unsupported("response_format", "must be one of " + names);
}

double read_speed(RequestFields& fields, const Voice& voice) {
  const double speed = fields.number("speed", 0.25, 4).value_or(1);
  const SpeedRange can = voice.speeds();
  if (!can.has(speed)) {
    RequestFields::fail_unsupported(
        "speed", fmt::format("is from {:.2f} to {:.2f} with this voice", can.slowest, can.fastest));
  }
  return speed;
}

SpeechRequest parse_speech_request(std::string_view body, const RealtimeOffer& offer) {
  RequestFields fields(body);
  const std::string model = *fields.text("model", /*required=*/true);
  if (model != offer.model && !is_foreign_model(model)) {
    throw ApiError(
        {.status = 404, .param = "model", .code = "model_not_found"},
        fmt::format("the model '{}' is not here: ask for '{}'", shortened(model), offer.model));
  }
  SpeechRequest request{.input = *fields.text("input", /*required=*/true),
                        .voice = offer.voice->names().front()};
  if (is_blank(request.input)) RequestFields::fail_value("input", "must not be empty");
  if (count_characters(request.input) > kMaxCharacters) {
    RequestFields::fail_value("input",
                              fmt::format("must have {} characters at most", kMaxCharacters));
  }
  request.input = without_thoughts(request.input);
  if (const auto voice = fields.text("voice")) request.voice = voice_named(*voice, offer);
  request.format = read_format(fields);
  request.speed = read_speed(fields, *offer.voice);
  fields.text("instructions");  // how to say it: no voice here takes directions
  const std::string stream = fields.text("stream_format").value_or("audio");
  if (stream != "audio" && stream != "sse") {
    RequestFields::fail_value("stream_format", "must be audio or sse");
  }
  request.has_events = stream == "sse";
  fields.ignore("user");
  fields.finish();
  return request;
}

/// Where the sound goes: in parts of a file, or in events.
class SpeechOut {
 public:
  SpeechOut(const SpeechRequest& request, HttpReply& reply)
      : request_(request), reply_(reply), encoder_(request.format, kRealtimeRate) {}

  void write(std::span<const float> samples) { send(encoder_.encode(samples)); }
  /// `num_tokens`: of the text.
  void finish(int64_t num_tokens) {
    send(encoder_.finish());
    if (request_.has_events) {
      const Json usage{
          {"input_tokens", num_tokens}, {"output_tokens", 0}, {"total_tokens", num_tokens}};
      reply_.send_event(to_text({{"type", "speech.audio.done"}, {"usage", usage}}));
    } else if (!std::exchange(has_begun_, true)) {
      reply_.send_part(media_type(request_.format), "");  // a text without words
    }
  }
  bool has_begun() const { return has_begun_; }

 private:
  void send(const std::string& bytes) {
    if (bytes.empty()) return;
    has_begun_ = true;
    if (!request_.has_events) return reply_.send_part(media_type(request_.format), bytes);
    reply_.send_event(to_text({{"type", "speech.audio.delta"}, {"audio", to_base64(bytes)}}));
  }

  const SpeechRequest& request_;
  HttpReply& reply_;
  SoundEncoder encoder_;
  bool has_begun_ = false;
};

/// False: nobody wants the rest.
bool speak(const SpeechRequest& request, SpeechSynthesizer& voice, HttpReply& reply,
           const std::stop_token& stop, SpeechOut& out) {
  Resampler resampler(voice.sample_rate(), kRealtimeRate);
  std::vector<float> resampled;
  SentenceEndFinder ends;
  size_t spoken = 0;
  const auto goes_on = [&] {
    throw_if_stopped(stop);
    return !reply.is_gone();
  };
  const auto send = [&] {
    if (!resampled.empty()) out.write(resampled);
    resampled.clear();
  };
  const auto take = [&](std::span<const float> samples) {
    resampler.add(samples, resampled);
    send();
    return true;
  };
  while (const std::optional<size_t> end = ends.next(request.input, /*complete=*/true)) {
    const auto sentence = std::string_view(request.input).substr(spoken, *end - spoken);
    if (!speak_sentence(voice, sentence, goes_on, take)) return false;
    spoken = *end;
  }
  resampler.finish(resampled);
  send();
  return true;
}

}  // namespace

void SpeechApi::serve(const HttpRequest& request, const std::string& client, HttpReply& reply,
                      const std::stop_token& stop) {
  if (!host_.offer.voice) {
    throw ApiError({.status = 404, .code = "no_voice"},
                   "no voice is configured: start the server with --tts");
  }
  const SpeechRequest asked = parse_speech_request(request.body, host_.offer);
  const auto slot = slots_.enter(client);
  if (!slot) throw slots_.refusal("texts are being spoken");
  std::unique_ptr<SpeechSynthesizer> voice;
  try {
    voice = host_.offer.voice->synthesizer(asked.voice, asked.speed);
  } catch (const UserError& error) {
    RequestFields::fail_value("voice", error.what());
  }
  std::optional<SpeechOut> out;
  try {
    out.emplace(asked, reply);
  } catch (const UserError& error) {
    RequestFields::fail_unsupported("response_format", error.what());
  }
  try {
    if (!speak(asked, *voice, reply, stop, *out)) return;
    out->finish(std::ssize(host_.tokenizer.encode(asked.input)));
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    if (!out->has_begun()) throw;
    spdlog::error("a voice failed: {}", first_line(error.what()));
    throw Interrupted();
  }
}

}  // namespace predgen::serve
