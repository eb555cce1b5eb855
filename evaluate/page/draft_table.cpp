#include "evaluate/page/draft_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "evaluate/page/turn_timeline.h"

namespace predgen::evaluate {
namespace {

std::string draft_table(const TurnTimeline& timeline) {
  std::string html = fmt::format(
      "<h4>{}</h4>\n<div class=scroll tabindex=0><table>\n"
      "<thead><tr><th>ready at<th>heard so far<th>draft: <span class=kept>kept by the next "
      "verification</span>, <s>rejected</s></thead>\n<tbody>\n",
      escape_html(timeline.method));
  for (const DraftSpan& draft : timeline.drafts) {
    const std::string kept = draft.text.substr(0, draft.kept),
                      rejected = draft.text.substr(draft.kept);
    html += fmt::format("<tr><td>{:.2f} s<td>{}<td>{}{}\n", draft.end, escape_html(draft.heard),
                        kept.empty() ? "" : "<span class=kept>" + escape_html(kept) + "</span>",
                        rejected.empty() ? "" : "<s>" + escape_html(rejected) + "</s>");
  }
  html += fmt::format("<tr><td>{:.2f} s<td>{}<td><b>{}</b>\n", timeline.last_word,
                      escape_html(timeline.heard.empty() ? "" : timeline.heard.back().second),
                      escape_html(timeline.answer));
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string draft_tables(const RunView& run, int64_t turn) {
  std::string html;
  const std::vector<std::string> shown = run.shown();
  for (const TurnTimeline& timeline : read_timelines(run, turn)) {
    const bool is_shown = std::ranges::find(shown, timeline.method) != shown.end();
    if (is_shown && !timeline.drafts.empty()) html += draft_table(timeline);
  }
  if (html.empty()) return "";
  return "<details><summary>What was heard, drafted and kept, word for word</summary>\n" + html +
         "</details>\n";
}

}  // namespace predgen::evaluate
