#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "evaluate/page/figures.h"
#include "evaluate/page/turn_timeline.h"
#include "page/axis.h"

namespace predgen::evaluate {
namespace {

constexpr double kLane = 40, kBar = 16, kWords = 44;

/// What a transcript adds to the one before, or removes from it.
std::string new_words(const std::string& before, const std::string& now) {
  const size_t same = common_start(before, now);
  std::string added = now.substr(same);
  while (!added.empty() && added.front() == ' ') added.erase(0, 1);
  return added;
}

void draw_words(SvgCanvas& canvas, const TurnTimeline& timeline, const Axis& x, double left,
                double top) {
  double taken[2] = {left, left};  // ends of the two lines of words
  std::string before;
  for (const auto& [time, text] : timeline.heard) {
    const std::string added = new_words(before, text);
    const bool is_revised = common_start(before, text) < before.size();
    const double at = x.place(time), width = (is_revised ? 1.12 : 1) * text_width(added);
    canvas.line(at, top + 30, at, top + 38, is_revised ? "s1 whisker" : "base whisker");
    for (int line = 1; line >= 0 && !added.empty(); --line) {
      const double begin = std::max(at - width / 2, taken[line]);
      if (begin > at || begin + width > canvas.width()) continue;
      canvas.text(begin, top + 11 + 14 * line, added, "start", is_revised ? "dark strong" : "dark");
      taken[line] = begin + width + 7;
      break;
    }
    before = text;
  }
}

void draw_lane(SvgCanvas& canvas, const TurnTimeline& timeline, const Axis& x, double left,
               double y) {
  const double wait = timeline.sound.value_or(timeline.last_word) - timeline.last_word;
  canvas.text(0, y + 12, cut_to_width(timeline.method, left - 6), "start", "strong");
  canvas.text(0, y + 27, timeline.sound ? fmt::format("{:.0f} ms", 1e3 * wait) : "no sound");
  for (size_t i = 0; i < timeline.drafts.size(); ++i) {
    const DraftSpan& draft = timeline.drafts[i];
    const double begin = x.place(draft.begin), end = std::max(x.place(draft.end), begin + 1.5);
    const double share = draft.text.empty() ? 0
                                            : static_cast<double>(draft.kept) /
                                                  static_cast<double>(draft.text.size());
    const double middle = begin + share * (end - begin);
    const std::string title = fmt::format("draft {}, {:.2f} s: {}", i + 1, draft.end, draft.text);
    canvas.rect(begin, y, std::max(middle - begin - 0.5, 0.0), kBar, "s2 fill", title);
    canvas.rect(middle, y, std::max(end - middle - 0.7, 0.0), kBar, "s1 pale", title);
  }
  if (timeline.ready_ahead) {
    const double at = x.place(*timeline.ready_ahead);
    canvas.path(fmt::format("M{:.1f} {:.1f}l-5 9h10z", at, y + kBar + 2), "s4 fill");
  }
  const double spoken = x.place(timeline.last_word);
  const double sentence = x.place(timeline.first_sentence.value_or(timeline.last_word));
  canvas.rect(spoken, y, std::max(sentence - spoken, 1.5), kBar, "s0 fill",
              "from the last word to the first sentence");
  if (!timeline.sound) return;
  const double sound = x.place(*timeline.sound);
  canvas.rect(sentence, y, std::max(sound - sentence, 0.0), kBar, "s4 pale",
              "speech to its first sample");
  canvas.dot(sound, y + kBar / 2, "s4 fill", "the first sound");
}

double end_of(const std::vector<TurnTimeline>& timelines) {
  double end = 0.1;
  for (const TurnTimeline& timeline : timelines) {
    end = std::max(
        {end, timeline.last_word, timeline.sound.value_or(0), timeline.first_sentence.value_or(0)});
  }
  return end;
}

std::string draw_timeline(const std::vector<TurnTimeline>& timelines, double width,
                          const std::string& label) {
  SvgCanvas canvas(width);
  std::vector<std::string> labels{"user"};
  for (const TurnTimeline& timeline : timelines) labels.push_back(timeline.method);
  const double left = label_room(labels, width) + 4, right = width - 12;
  const double top = draw_legend(canvas, {{"s2 fill", "draft: kept by the next verification"},
                                          {"s1 pale", "draft: rejected"},
                                          {"s0 fill", "to the first sentence"},
                                          {"s4 pale", "to the first sound"},
                                          {"s4 fill", "sound ready (▲ before the last word)"}}) +
                     4;
  const Axis x(0, 1.02 * end_of(timelines), left, right);
  const double lanes = top + kWords,
               bottom = lanes + kLane * static_cast<double>(timelines.size()) + 4;
  for (const double tick : x.ticks(width < 450 ? 4 : 12)) {
    canvas.line(x.place(tick), top + 34, x.place(tick), bottom, "grid");
    canvas.text(x.place(tick), bottom + 15, tick_label(tick), "middle");
  }
  canvas.line(left, bottom, right, bottom, "axis");
  canvas.text((left + right) / 2, bottom + 33, "seconds since the user began", "middle");
  canvas.text(0, top + 36, "user", "start", "strong");
  draw_words(canvas, timelines.front(), x, left, top);
  const double last_word = x.place(timelines.front().last_word);
  canvas.line(last_word, top + 26, last_word, bottom, "zero");
  double y = lanes + 6;
  for (const TurnTimeline& timeline : timelines) {
    draw_lane(canvas, timeline, x, left, y);
    y += kLane;
  }
  return canvas.finish(bottom + 40, label);
}

}  // namespace

Figure timeline_figure(const RunView& run, int64_t turn, const std::string& why) {
  Figure figure{.name = "timeline_" + why,
                .title = "A turn from the first word to the first sound",
                .is_wide = true};
  std::vector<TurnTimeline> timelines = read_timelines(run, turn);
  const std::vector<std::string> shown = run.shown();
  std::erase_if(timelines, [&](const TurnTimeline& timeline) {
    return timeline.heard.empty() || std::ranges::find(shown, timeline.method) == shown.end();
  });
  if (timelines.empty()) {
    figure.missing = "is not here: the results hold no trace of a turn.";
    return figure;
  }
  const std::string against = text_at(at_path(run.run(), {"timelines"}).front(), {"against"});
  figure.title = fmt::format("Turn {}, in which {} saves {}", turn, against,
                             why == "typical" ? "the median"
                             : why == "best"  ? "most"
                                              : "least");
  const auto& heard = timelines.front().heard;
  for (size_t i = 1; i < heard.size(); ++i) {
    if (common_start(heard[i - 1].second, heard[i].second) == heard[i - 1].second.size()) continue;
    figure.note = "Bold, with a coloured tick: a transcript that took earlier words back.";
  }
  figure.draw = [timelines, title = figure.title](double width) {
    return draw_timeline(timelines, width, title);
  };
  return figure;
}

}  // namespace predgen::evaluate
