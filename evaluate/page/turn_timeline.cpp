#include "evaluate/page/turn_timeline.h"

#include <algorithm>

#include "core/text.h"

namespace predgen::evaluate {
namespace {

TurnTimeline read_one(const RunView& run, const Json& timeline) {
  TurnTimeline read{.method = text_at(timeline, {"method"})};
  double free_from = 0;  // when the model had finished the draft before
  for (const Json& event : at_path(timeline, {"events"})) {
    if (!event.is_array() || event.size() < 3) continue;
    const auto time = event[0].get<double>();
    const auto kind = event[1].get<std::string>(), text = event[2].get<std::string>();
    if (kind == "transcript" || kind == "final") {
      read.heard.emplace_back(time, text);
      read.last_word = time;
    } else if (kind == "draft") {
      const double seen = read.heard.empty() ? 0 : read.heard.back().first;
      read.drafts.push_back({.begin = std::max(seen, free_from),
                             .end = time,
                             .heard = read.heard.empty() ? "" : read.heard.back().second,
                             .text = text});
      free_from = time;
    } else if (kind == "first_sentence") {
      read.first_sentence = time;
    } else if (kind == "done") {
      read.answer = text;
    }
  }
  for (size_t i = 0; i < read.drafts.size(); ++i) {
    const bool is_last = i + 1 == read.drafts.size();
    read.drafts[i].kept =
        common_start(read.drafts[i].text, is_last ? read.answer : read.drafts[i + 1].text);
  }
  for (const Json* row : run.rows(read.method)) {
    if (row->at("turn") != at_path(timeline, {"turn"})) continue;
    if (const auto latency = number_at(*row, {"audio_latency"})) {
      read.sound = read.last_word + *latency;
    }
    const auto lead = number_at(*row, {"lead_time"});
    if (lead && *lead > 0) read.ready_ahead = read.last_word - *lead;
  }
  return read;
}

}  // namespace

std::vector<TurnTimeline> read_timelines(const RunView& run, int64_t turn) {
  std::vector<TurnTimeline> timelines;
  for (const Json& timeline : at_path(run.run(), {"timelines"})) {
    if (at_path(timeline, {"turn"}) == turn) timelines.push_back(read_one(run, timeline));
  }
  return timelines;
}

}  // namespace predgen::evaluate
