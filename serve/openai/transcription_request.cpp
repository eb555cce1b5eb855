#include "serve/openai/transcription_request.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/suggest.h"
#include "core/text.h"
#include "serve/api_error.h"
#include "serve/http/multipart.h"
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

}  // namespace predgen::serve
