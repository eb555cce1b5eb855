#include "hear/transcripts/scheduled_source.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace predgen {
namespace {

bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\v' ||
         byte == '\f';
}

}  // namespace

std::vector<Transcript> type_text(const std::string& text, double characters_per_minute,
                                  Seconds start) {
  if (!(characters_per_minute > 0) || !std::isfinite(characters_per_minute)) {
    throw UserError("the typing rate is {} characters a minute, but must be positive",
                    characters_per_minute);
  }
  std::vector<Transcript> transcripts;
  const auto add = [&](std::string so_far, int64_t num_characters, bool is_final) {
    const Seconds time(60.0 * static_cast<double>(num_characters) / characters_per_minute);
    transcripts.push_back({.text = std::move(so_far),
                           .revision = static_cast<int64_t>(transcripts.size()) + 1,
                           .time = start + time,
                           .is_final = is_final});
  };
  int64_t num_characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i])) ++num_characters;
    if (i > 0 && is_space(text[i]) && !is_space(text[i - 1])) {
      add(text.substr(0, i), num_characters, false);
    }
  }
  add(text, num_characters, true);
  return transcripts;
}

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

ScheduledSource::ScheduledSource(std::vector<Transcript> transcripts)
    : transcripts_(std::move(transcripts)) {
  for (size_t i = 0; i < transcripts_.size(); ++i) {
    if (i > 0 && transcripts_[i].time < transcripts_[i - 1].time) {
      throw UserError(
          "transcript {} of {} arrives at {} s, before the one in front of it: sort them", i + 1,
          transcripts_.size(), transcripts_[i].time.count());
    }
    transcripts_[i].revision = static_cast<int64_t>(i) + 1;
  }
  if (!transcripts_.empty()) transcripts_.back().is_final = true;
}

std::optional<Transcript> ScheduledSource::latest(Seconds now) {
  std::optional<Transcript> newest;
  for (size_t i = turn_begin_; i < transcripts_.size() && transcripts_[i].time <= now; ++i) {
    newest = transcripts_[i];
    if (newest->is_final) break;
  }
  return newest;
}

std::optional<Transcript> ScheduledSource::wait_newer(int64_t revision, Clock& clock) {
  const size_t next = std::max(turn_begin_, static_cast<size_t>(revision));  // revision n is at n-1
  if (next >= transcripts_.size()) return std::nullopt;
  clock.sleep_until(transcripts_[next].time);
  std::optional<Transcript> newest = latest(clock.now());
  if (newest && newest->is_final) turn_begin_ = static_cast<size_t>(newest->revision);
  return newest;
}

}  // namespace predgen
