#include "hear/transcripts/recorded_source.h"

#include <cmath>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace predgen {
namespace {

std::vector<Transcript> read_transcripts(const Json& entries, const std::string& file,
                                         const std::string& id) {
  const auto fail = [&](size_t number, const char* why) {
    throw UserError("{}: entry {} of '{}' {}", file, number, id, why);
  };
  if (!entries.is_array()) fail(1, "is missing: the value must be a list of [text, seconds]");
  std::vector<Transcript> transcripts;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Json& entry = entries[i];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      fail(i + 1, "is not [text, seconds]");
    }
    const Seconds time(entry[1].get<double>());
    if (!std::isfinite(time.count()) || time.count() < 0) fail(i + 1, "has no possible time");
    if (i > 0 && time < transcripts.back().time)
      fail(i + 1, "is earlier than the one in front of it");
    transcripts.push_back(
        {.text = std::string(trimmed(entry[0].get_ref<const std::string&>(), " \t\n\r")),
         .revision = static_cast<int64_t>(i) + 1,
         .time = time,
         .is_final = i + 1 == entries.size()});
  }
  return transcripts;
}

RecordedVoice read_voice(const Json& recording, const std::string& where) {
  RecordedVoice voice{.said = json_get<std::string>(recording, "said", where),
                      .ended = Seconds(json_get<double>(recording, "voice_ended", where)),
                      .is_cut_off = json_flag(recording, "cut_off", false, where)};
  if (trimmed(voice.said, " \t\n\r").empty()) throw UserError("{}: \"said\" is blank", where);
  if (!std::isfinite(voice.ended.count()) || voice.ended < Seconds(0)) {
    throw UserError("{}: \"voice_ended\" is no possible time", where);
  }
  return voice;
}

}  // namespace

Recordings read_recordings(const std::filesystem::path& file) {
  const Json json = read_json(file);
  if (!json.is_object()) {
    throw UserError("{}: must be an object of id -> list of [text, seconds]", file.string());
  }
  Recordings result;
  for (const auto& [id, value] : json.items()) {
    Recording recording{.id = id, .transcripts = {}};
    const std::string where = fmt::format("{}: '{}'", file.string(), id);
    if (value.is_object()) recording.voice = read_voice(value, where);
    recording.transcripts = read_transcripts(
        value.is_object() && value.contains("transcripts") ? value["transcripts"] : value,
        file.string(), id);
    if (recording.transcripts.empty()) {
      result.empty.push_back(id);
    } else {
      result.recordings.push_back(std::move(recording));
    }
  }
  return result;
}

std::vector<Transcript> shifted(std::vector<Transcript> transcripts, Seconds start) {
  for (Transcript& transcript : transcripts) transcript.time += start;
  return transcripts;
}

}  // namespace predgen
