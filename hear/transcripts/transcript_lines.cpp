#include "hear/transcripts/transcript_lines.h"

#include <cmath>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "hear/transcripts/transcript_reader.h"

namespace predgen {
namespace {

TranscriptLine parse_own_line(const Json& json, const std::string& where) {
  if (!json.is_object() || !json.contains("text")) {
    throw UserError(
        "{}: is no transcript: give {{\"text\": ..}}, or a message of Deepgram, AssemblyAI, "
        "sherpa-onnx or RTVI as it comes",
        where);
  }
  TranscriptLine result;
  result.text = json_get<std::string>(json, "text", where);
  for (const auto& [key, value] : json.items()) {
    if (key == "text") continue;
    if (key == "time") {
      if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
        fail_json_key("time", where, "must be seconds, 0 or more");
      }
      result.time = value.get<double>();
    } else if (key == "revision") {
      if (!value.is_number_integer()) fail_json_key("revision", where, "must be an integer");
      result.revision = value.get<int64_t>();
    } else if (key == "final" || key == "end_of_turn") {
      if (!value.is_boolean()) fail_json_key(key.c_str(), where, "must be true or false");
    } else {
      throw UserError("{}: unknown key '{}': use text, time, revision, final, end_of_turn", where,
                      key);
    }
  }
  const char* decides = json.contains("end_of_turn") ? "end_of_turn" : "final";
  result.is_final = json.value(decides, false);
  return result;
}

}  // namespace

std::vector<TranscriptLine> parse_transcript_line(const std::string& line, const std::string& where,
                                                  TranscriptMessages& messages) {
  if (TranscriptMessages::is_farewell(trimmed(line))) return {};
  const Json json = parse_json(line, where);
  auto lines = messages.read(json, where);
  if (!lines) lines = {parse_own_line(json, where)};
  for (const TranscriptLine& parsed : *lines) {
    if (parsed.text.size() <= kMaxTurnBytes) continue;
    throw UserError("{}: the turn's text has more than {} bytes: end turns earlier", where,
                    kMaxTurnBytes);
  }
  return *std::move(lines);
}

bool RevisionFilter::is_stale(const TranscriptLine& line) {
  if (line.revision && *line.revision <= newest_) return true;
  newest_ = line.is_final ? kNone : line.revision.value_or(newest_);
  return false;
}

std::vector<Transcript> read_transcript_file(const std::filesystem::path& file) {
  std::istringstream lines(read_file(file));
  std::vector<Transcript> transcripts;
  TranscriptMessages messages;
  RevisionFilter filter;
  Seconds time{0};
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", file.string(), number);
    for (const TranscriptLine& parsed : parse_transcript_line(line, where, messages)) {
      if (parsed.time && Seconds(*parsed.time) < time) {
        throw UserError("{}: time {} is before that of an earlier line", where, *parsed.time);
      }
      time = Seconds(parsed.time.value_or(time.count()));
      if (filter.is_stale(parsed)) continue;
      transcripts.push_back({.text = parsed.text,
                             .revision = static_cast<int64_t>(transcripts.size()) + 1,
                             .time = time,
                             .is_final = parsed.is_final});
    }
  }
  if (transcripts.empty()) throw UserError("{}: holds no transcript", file.string());
  return transcripts;
}

}  // namespace predgen
