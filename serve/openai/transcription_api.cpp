#include "serve/openai/transcription_api.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "hear/transcribe.h"
#include "serve/api_error.h"
#include "serve/http/http.h"
#include "serve/main_language.h"
#include "serve/request_fields.h"

namespace predgen::serve {
namespace {

constexpr std::array<std::pair<std::string_view, TranscriptForm>, 5> kTranscriptForms{
    {{"json", TranscriptForm::kJson},
     {"text", TranscriptForm::kText},
     {"verbose_json", TranscriptForm::kVerbose},
     {"srt", TranscriptForm::kSubtitles},
     {"vtt", TranscriptForm::kWebSubtitles}}};
/// Hints how to hear, which ask for the same words.
constexpr std::array<std::string_view, 8> kHints{"prompt",    "temperature", "chunking_strategy",
                                                 "user",      "hotwords",    "vad_filter",
                                                 "include[]", "include"};
constexpr std::array<std::string_view, 7> kRead{"file",
                                                "model",
                                                "language",
                                                "response_format",
                                                "stream",
                                                "timestamp_granularities[]",
                                                "timestamp_granularities"};

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether it is called like OpenAI's models that hear, which clients request by default:
/// whisper-1, gpt-4o-transcribe, ..
bool is_foreign_hearer(const std::string& name) {
  const bool tells_speakers = name.find("diarize") != std::string::npos;
  return !tells_speakers && (name.find("whisper") != std::string::npos ||
                             name.find("-transcribe") != std::string::npos);
}

TranscriptForm read_form(const std::string& asked) {
  std::string names;
  for (const auto& [name, form] : kTranscriptForms) {
    if (asked == name) return form;
    names = joined(names, ", ", std::string(name));
  }
  RequestFields::fail_unsupported("response_format", "must be one of " + names);
}

bool read_switch(const std::string& name, const std::string& given) {
  const std::string value = lower_ascii(given);
  if (value == "true" || value == "1") return true;
  if (value != "false" && value != "0" && !value.empty()) {
    RequestFields::fail_value(name, "must be true or false");
  }
  return false;
}

void check_language(const std::string& asked, const std::string& heard) {
  if (is_heard(asked, heard)) return;
  RequestFields::fail_unsupported(
      "language", fmt::format("is '{}' on this server, which --language sets", heard));
}

void check_model(const std::string& name, const RealtimeHost& host) {
  if (name.empty() || name == host.offer.model || is_foreign_hearer(name)) return;
  throw ApiError(
      {.status = 404, .param = "model", .code = "model_not_found"},
      fmt::format("the model '{}' does not hear here: ask for 'whisper-1'", shortened(name)));
}

void check_known(const std::string& name) {
  if (is_one_of(name, kRead) || is_one_of(name, kHints)) return;
  throw ApiError({.param = shortened(name), .code = "unknown_parameter"},
                 fmt::format("unknown parameter: '{}'; {}", shortened(name),
                             suggest(name, {kRead.begin(), kRead.end()})));
}

}  // namespace

TranscriptionRequest parse_transcription_request(std::string_view body,
                                                 std::string_view content_type,
                                                 const RealtimeHost& host) {
  TranscriptionRequest request;
  bool has_file = false;
  for (const FormField& field : parse_form(body, content_type)) {
    check_known(field.name);
    if (field.name == "file") {
      request.file = field.content;
      has_file = true;
      continue;
    }
    const std::string value(trimmed(field.content));
    if (field.name == "model") check_model(value, host);
    if (field.name == "language") check_language(value, host.offer.language);
    if (field.name == "response_format") request.form = read_form(value);
    if (field.name == "stream") request.stream = read_switch(field.name, value);
    if (field.name.starts_with("timestamp_granularities") && value != "segment") {
      RequestFields::fail_unsupported("timestamp_granularities",
                                      "is supported as segment only: no word has times");
    }
    if (field.name.starts_with("include") && !value.empty()) {
      RequestFields::fail_unsupported("include", "is not supported: there are no probabilities");
    }
  }
  if (!has_file) {
    throw ApiError({.param = "file", .code = "missing_required_parameter"},
                   "missing required parameter: 'file'");
  }
  return request;
}

namespace {

Json duration_usage(const Transcription& heard) {
  return {{"type", "duration"}, {"seconds", std::ceil(heard.seconds)}};
}

/// What is not known of a segment is null.
Json verbose_json(const Transcription& heard, const std::string& language) {
  Json segments = Json::array();
  for (const HeardPart& part : heard.parts) {
    segments.push_back({{"id", segments.size()},
                        {"seek", 0},
                        {"start", part.begin},
                        {"end", part.end},
                        {"text", part.text},
                        {"tokens", Json::array()},
                        {"temperature", 0.0},
                        {"avg_logprob", nullptr},
                        {"compression_ratio", nullptr},
                        {"no_speech_prob", nullptr}});
  }
  return {{"task", "transcribe"},
          {"language", language},
          {"duration", heard.seconds},
          {"text", heard.text()},
          {"segments", std::move(segments)},
          {"usage", duration_usage(heard)}};
}

/// 00:01:02,500 with a comma, say, before the milliseconds.
std::string subtitle_time(double seconds, char comma) {
  const auto ms = std::llround(seconds * 1e3);
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
                     comma, ms % 1000);
}

std::string subtitles(const Transcription& heard, bool is_web) {
  std::string text = is_web ? "WEBVTT\n\n" : "";
  const char comma = is_web ? '.' : ',';
  int64_t number = 0;
  for (const HeardPart& part : heard.parts) {
    if (!is_web) text += fmt::format("{}\n", ++number);
    text += fmt::format("{} --> {}\n{}\n\n", subtitle_time(part.begin, comma),
                        subtitle_time(part.end, comma), part.text);
  }
  return text;
}

HttpAnswer transcript_answer(const Transcription& heard, TranscriptForm form,
                             const std::string& language) {
  const std::string plain = "text/plain; charset=utf-8";
  switch (form) {
    case TranscriptForm::kText:
      return {.body = heard.text() + "\n", .type = plain};
    case TranscriptForm::kVerbose:
      return {.body = to_text(verbose_json(heard, language))};
    case TranscriptForm::kSubtitles:
      return {.body = subtitles(heard, /*is_web=*/false), .type = plain};
    case TranscriptForm::kWebSubtitles:
      return {.body = subtitles(heard, /*is_web=*/true), .type = "text/vtt; charset=utf-8"};
    case TranscriptForm::kJson:
      break;
  }
  return {.body = to_text({{"text", heard.text()}, {"usage", duration_usage(heard)}})};
}

}  // namespace

std::shared_ptr<const void> TranscriptionApi::begin_upload(const std::string& client) {
  if (auto slot = uploads_.enter(client)) return slot;
  throw uploads_.refusal("files are being sent");
}

void TranscriptionApi::serve(const HttpRequest& request, const std::string& client,
                             HttpReply& reply, const std::stop_token& stop) {
  if (!host_.make_recogniser) {
    throw ApiError({.status = 404, .code = "no_recogniser"},
                   "nothing hears: start the server with --recogniser base");
  }
  const TranscriptionRequest asked =
      parse_transcription_request(request.body, request.content_type, host_);
  const auto slot = slots_.enter(client);
  if (!slot) throw slots_.refusal("recordings are being heard");
  const bool streams = asked.stream && asked.form == TranscriptForm::kJson;
  bool has_begun = false;
  const auto send = [&](const HeardPart& part) {
    const std::string space = std::exchange(has_begun, true) ? " " : "";
    reply.send_event(to_text({{"type", "transcript.text.delta"}, {"delta", space + part.text}}));
  };
  try {
    SoundInMemory sound{std::string(asked.file)};
    const Transcription heard = transcribe(
        sound, host_.make_recogniser,
        [&](const HeardPart& part) {
          if (streams) send(part);
        },
        [&] {
          throw_if_stopped(stop);
          return !reply.is_gone();
        });
    if (!streams) return reply.send(transcript_answer(heard, asked.form, host_.offer.language));
    reply.send_event(to_text({{"type", "transcript.text.done"},
                              {"text", heard.text()},
                              {"usage", duration_usage(heard)}}));
  } catch (const UserError& error) {
    const ApiError refusal({.param = "file", .code = "invalid_value"},
                           fmt::format("'file' {}; wav, mp3, flac and ogg can be read, "
                                       "m4a and webm cannot",
                                       error.what()));
    if (!has_begun) throw refusal;
    reply.send_event(refusal.json());
  } catch (const RecogniserError& error) {
    const ApiError failure({.status = 503, .type = "server_error", .code = "recogniser_failed"},
                           error.what());
    if (!has_begun) throw failure;
    reply.send_event(failure.json());
  }
}

}  // namespace predgen::serve
