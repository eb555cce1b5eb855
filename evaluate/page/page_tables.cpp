#include "evaluate/page/page_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "evaluate/page/method_columns.h"
#include "evaluate/page/turn_timeline.h"

namespace predgen::evaluate {
namespace {

constexpr size_t kMostLines = 50;

std::string methods_table(const Json& run) {
  const std::vector<MethodColumn> columns = method_columns(run);
  std::string html =
      "<div class=scroll tabindex=0><table class='figures sortable'>\n<thead><tr><th>method";
  for (const MethodColumn& column : columns) html += "<th>" + escape_html(column.title);
  html += "</thead>\n<tbody>\n";
  for (const auto& [name, method] : at_path(run, {"methods"}).items()) {
    html += "<tr><th scope=row>" + escape_html(name);
    for (const MethodColumn& column : columns) {
      html += "<td>" + escape_html(column.cell(method, at_path(run, {"comparisons", name})));
    }
    html += '\n';
  }
  return html + "</tbody></table></div>\n";
}

/// A collapsible list, with its length in the title.
std::string listed(const std::string& title, const std::vector<std::string>& lines) {
  std::string html =
      fmt::format("<details><summary>{}: {}</summary>\n<ul>", escape_html(title), lines.size());
  for (size_t i = 0; i < lines.size() && i < kMostLines; ++i) {
    html += "<li>" + escape_html(lines[i]) + '\n';
  }
  if (lines.size() > kMostLines) {
    html += fmt::format("<li>and {} more, in results.json\n", lines.size() - kMostLines);
  }
  return html + "</ul></details>\n";
}

std::string where(const Json& row) {
  return fmt::format("{}, {}", text_at(row, {"id"}), text_at(row, {"method"}));
}

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

std::string methods_tables(const RunView& run) {
  std::string html = methods_table(run.run());
  const Json& unseen = at_path(run.run(), {"unseen"});
  if (unseen.is_object()) {
    html += "<h3>Turns that the training data lacks</h3>\n" + methods_table(unseen);
  }
  return html;
}

std::string category_table(const RunView& run) {
  if (run.methods().empty()) return "";
  const Json& first = at_path(run.method(run.methods().front()), {"accuracy", "by_category"});
  if (!first.is_object()) return "";
  std::string html =
      "<h3>Right answers by category, % with the 95 % interval</h3>\n<div class=scroll "
      "tabindex=0><table "
      "class='figures sortable'>\n<thead><tr><th>category<th>turns";
  for (const std::string& method : run.methods()) html += "<th>" + escape_html(method);
  html += "</thead>\n<tbody>\n";
  for (const auto& [category, share] : first.items()) {
    html += fmt::format("<tr><th scope=row>{}<td>{}", escape_html(category),
                        at_path(share, {"n"}).dump());
    for (const std::string& method : run.methods()) {
      html +=
          "<td>" + share_cell(at_path(run.method(method), {"accuracy", "by_category", category}));
    }
    html += '\n';
  }
  return html + "</tbody></table></div>\n";
}

std::string left_out(const Json& report) {
  std::string html;
  std::vector<std::string> failed, unjudged, skipped;
  for (const Json& turn : at_path(report, {"failed"})) {
    failed.push_back(fmt::format("{} ({}, {}): {}", where(turn), text_at(turn, {"model"}),
                                 text_at(turn, {"price"}), text_at(turn, {"error"})));
  }
  for (const Json& row : at_path(report, {"turns"})) {
    for (const char* key : {"judge_grade_problem", "judge_against_baseline_problem"}) {
      if (const std::string why = text_at(row, {key}); !why.empty()) {
        unjudged.push_back(where(row) + ": " + why);
      }
    }
  }
  for (const Json& why : at_path(report, {"skipped"})) {
    skipped.push_back(why.is_string() ? why.get<std::string>() : why.dump());
  }
  if (!failed.empty()) html += listed("Turns that failed, left out of every method", failed);
  if (!unjudged.empty()) html += listed("Not judged, and in no mean", unjudged);
  if (!skipped.empty()) html += listed("Rows of the set that are no turns", skipped);
  const std::string heard = heard_line(report);
  if (!heard.empty()) html += "<p>" + heard + "</p>\n";
  const Json& seen = at_path(report, {"training_overlap"});
  if (seen.is_object()) {
    html += fmt::format(
        "<p>In the training data stand {} turns word for word, {} but for case and punctuation, {} "
        "not at all.</p>\n",
        at_path(seen, {"exact"}).dump(), at_path(seen, {"normalised"}).dump(),
        at_path(seen, {"none"}).dump());
  }
  return html;
}

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
