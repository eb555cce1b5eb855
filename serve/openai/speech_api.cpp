#include "serve/openai/speech_api.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "runtime/speech/calling_sink.h"
#include "runtime/speech/pcm16.h"
#include "runtime/speech/resampling_sink.h"
#include "runtime/speech/speak_sentence.h"
#include "serve/api_error.h"
#include "serve/request_fields.h"
#include "text/sentence/sentence_end.h"
#include "text/spoken/speech_text.h"

namespace predgen::serve {
namespace {

constexpr int64_t kMaxCharacters = 4096;  // as OpenAI has it
/// OpenAI's own models, which its clients request by default.
constexpr std::array kForeignModels{"tts-1", "tts-1-hd", "gpt-4o-mini-tts"};

struct SpeechRequest {
  std::string input, voice;
  bool is_wav = true;
};

SpeechRequest parse_speech_request(std::string_view body, const RealtimeOffer& offer) {
  RequestFields fields(body);
  const std::string model = *fields.text("model", /*required=*/true);
  const bool is_foreign =
      std::ranges::any_of(kForeignModels, [&](const char* name) { return model == name; });
  if (model != offer.model && !is_foreign) {
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
  if (const auto voice = fields.text("voice")) request.voice = voice_named(*voice, offer);
  const std::string format = fields.text("response_format").value_or("wav");
  if (format != "wav" && format != "pcm") {
    RequestFields::fail_unsupported("response_format", "must be wav or pcm: there is no encoder");
  }
  request.is_wav = format == "wav";
  fields.expect_neutral("speed", {1.0, 1});
  fields.expect_neutral("instructions", {""});
  fields.expect_neutral("stream_format", {"audio"});
  fields.finish();
  return request;
}

/// The header of a file whose length is not known yet.
std::string wav_header() {
  const auto number = [](uint32_t value, int num_bytes) {
    std::string bytes;
    for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  constexpr uint32_t kUnknown = 0xFFFFFFFF, kPcm = 1, kChannels = 1, kBytes = 2;
  constexpr uint32_t kRate = kRealtimeRate;
  return "RIFF" + number(kUnknown, 4) + "WAVEfmt " + number(16, 4) + number(kPcm, 2) +
         number(kChannels, 2) + number(kRate, 4) + number(kRate * kBytes, 4) + number(kBytes, 2) +
         number(8 * kBytes, 2) + "data" + number(kUnknown, 4);
}

/// `has_begun`: whether any of it was sent.
void speak(const SpeechRequest& request, SpeechSynthesizer& voice, HttpReply& reply,
           const std::stop_token& stop, bool& has_begun) {
  const std::string type = request.is_wav ? "audio/wav" : "audio/pcm";
  const auto begin = [&] {
    if (!std::exchange(has_begun, true)) reply.send_part(type, request.is_wav ? wav_header() : "");
  };
  ResamplingSink sink(std::make_unique<CallingSink>([&](std::span<const float> samples) {
                        begin();
                        const std::vector<int16_t> pcm = to_pcm16(samples);
                        reply.send_part(type, bytes_of(pcm));
                      }),
                      voice.sample_rate(), kRealtimeRate);
  SentenceEndFinder ends;
  size_t spoken = 0;
  const auto goes_on = [&] {
    throw_if_stopped(stop);
    return !reply.is_gone();
  };
  const auto take = [&](std::span<const float> samples) {
    sink.write(samples);
    return true;
  };
  while (const std::optional<size_t> end = ends.next(request.input, /*complete=*/true)) {
    const auto sentence = std::string_view(request.input).substr(spoken, *end - spoken);
    if (!speak_sentence(voice, sentence, goes_on, take)) return;
    spoken = *end;
  }
  sink.drain();
  begin();  // for a text without words
}

}  // namespace

void SpeechApi::serve(const HttpRequest& request, const std::string& client, HttpReply& reply,
                      const std::stop_token& stop) {
  if (!host_.offer.voice) {
    throw ApiError({.status = 404, .code = "no_voice"},
                   "no voice is configured: start the server with --tts");
  }
  const SpeechRequest asked = parse_speech_request(request.body, host_.offer);
  const auto place = places_.enter(client);
  if (!place) throw places_.refusal("texts are being spoken");
  std::unique_ptr<SpeechSynthesizer> voice;
  try {
    voice = host_.offer.voice->synthesizer(asked.voice);
  } catch (const UserError& error) {
    RequestFields::fail_value("voice", error.what());
  }
  bool has_begun = false;
  try {
    speak(asked, *voice, reply, stop, has_begun);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    if (!has_begun) throw;
    spdlog::error("a voice failed: {}", first_line(error.what()));
    throw Interrupted();
  }
}

}  // namespace predgen::serve
