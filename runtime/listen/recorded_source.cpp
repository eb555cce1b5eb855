#include "runtime/listen/recorded_source.h"

#include <cmath>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace predgen {

Recordings read_recordings(const std::filesystem::path& file) {
  const Json json = read_json(file);
  if (!json.is_object()) {
    throw UserError("{}: must be an object of id -> list of [text, seconds]", file.string());
  }
  Recordings result;
  for (const auto& [id, entries] : json.items()) {
    const auto fail = [&, &name = id](size_t number, const char* why) {
      throw UserError("{}: entry {} of '{}' {}", file.string(), number, name, why);
    };
    if (!entries.is_array()) fail(1, "is missing: the value must be a list of [text, seconds]");
    if (entries.empty()) {
      result.empty.push_back(id);
      continue;
    }
    Recording recording{.id = id, .transcripts = {}};
    for (size_t i = 0; i < entries.size(); ++i) {
      const Json& entry = entries[i];
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
          !entry[1].is_number()) {
        fail(i + 1, "is not [text, seconds]");
      }
      const Seconds time(entry[1].get<double>());
      if (!std::isfinite(time.count()) || time.count() < 0) fail(i + 1, "has no possible time");
      if (i > 0 && time < recording.transcripts.back().time) {
        fail(i + 1, "is earlier than the one in front of it");
      }
      recording.transcripts.push_back(
          {.text = std::string(trimmed(entry[0].get_ref<const std::string&>(), " \t\n\r")),
           .revision = static_cast<int64_t>(i) + 1,
           .time = time,
           .is_final = i + 1 == entries.size()});
    }
    result.recordings.push_back(std::move(recording));
  }
  return result;
}

std::vector<Transcript> shifted(std::vector<Transcript> transcripts, Seconds start) {
  for (Transcript& transcript : transcripts) transcript.time += start;
  return transcripts;
}

}  // namespace predgen
