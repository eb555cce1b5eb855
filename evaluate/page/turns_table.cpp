#include "evaluate/page/turns_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "evaluate/page/text_difference.h"

namespace predgen::evaluate {
namespace {

constexpr size_t kMostTurns = 500;
constexpr size_t kMostColumns = 4;
constexpr size_t kFewTurns = 5;  // whose answers are shown at once

/// The rows of one turn by method.
using TurnRows = std::map<std::string, const Json*>;

struct Answer {
  std::string text;
  std::string methods;  // that give it, with commas
};

/// Each text once, the first method's first.
std::vector<Answer> answers_of(const RunView& run, const TurnRows& rows) {
  std::vector<Answer> answers;
  for (const std::string& method : run.methods()) {
    const auto row = rows.find(method);
    if (row == rows.end()) continue;
    const std::string text = text_at(*row->second, {"text"});
    const auto same = std::ranges::find(answers, text, &Answer::text);
    if (same == answers.end()) {
      answers.push_back({text, method});
    } else {
      same->methods += ", " + method;
    }
  }
  return answers;
}

/// What a judge or a right answer says of a row.
std::string verdict(const Json& row) {
  std::string words;
  if (const Json& correct = at_path(row, {"correct"}); correct.is_boolean()) {
    words += correct.get<bool>() ? " right" : " wrong";
  }
  if (const auto grade = number_at(row, {"judge_grade"})) words += fmt::format(" {:g}/10", *grade);
  for (const char* key : {"judge_grade_problem", "judge_against_baseline_problem"}) {
    if (!text_at(row, {key}).empty()) {
      words += " not judged";
      break;
    }
  }
  return words;
}

std::string texts_cell(const RunView& run, const TurnRows& rows, bool is_open) {
  const std::vector<Answer> answers = answers_of(run, rows);
  if (answers.empty()) return "<td>";
  std::string html = fmt::format(
      "<td data-sort={}><details{}><summary>{}</summary>\n<dl>", answers.size() - 1,
      is_open ? " open" : "",
      answers.size() == 1 ? "one text" : fmt::format("<mark>{} texts</mark>", answers.size()));
  for (const Answer& answer : answers) {
    html += fmt::format(
        "<dt>{}{}<dd>{}\n", escape_html(answer.methods),
        escape_html(verdict(*rows.at(answer.methods.substr(0, answer.methods.find(','))))),
        answer.text.empty() ? "<i>(nothing)</i>"
                            : mark_difference(answers.front().text, answer.text));
  }
  return html + "</dl></details>";
}

std::string turn_line(const RunView& run, int64_t turn, const TurnRows& rows, bool is_open) {
  const Json& any = *rows.begin()->second;
  const std::string seen = text_at(any, {"in_training_data"});
  std::string html =
      fmt::format("<tr><td data-sort={}>{}{}{}<td class=prompt>{}", turn, turn,
                  at_path(any, {"category"}).is_string() && !text_at(any, {"category"}).empty()
                      ? "<br><small>" + escape_html(text_at(any, {"category"})) + "</small>"
                      : "",
                  seen.empty() || seen == "none" ? "" : "<br><small>seen in training</small>",
                  escape_html(text_at(any, {"prompt"})));
  for (const std::string& method : run.shown(kMostColumns)) {
    const auto row = rows.find(method);
    const auto ttfs = row == rows.end() ? std::nullopt : number_at(*row->second, {"ttfs"});
    html += ttfs ? fmt::format("<td class=number data-sort={:.6f}>{:.0f}", *ttfs, 1e3 * *ttfs)
                 : "<td class=number>–";
  }
  return html + texts_cell(run, rows, is_open) + "\n";
}

}  // namespace

std::string turns_table(const RunView& run) {
  std::map<int64_t, TurnRows> turns;
  for (const std::string& method : run.methods()) {
    for (const Json* row : run.rows(method)) {
      turns[static_cast<int64_t>(number_at(*row, {"turn"}).value_or(0))][method] = row;
    }
  }
  if (turns.empty()) return "<p class=missing><b>Turns</b> are not here: none was answered.</p>\n";
  std::string html =
      "<div class=scroll tabindex=0><table class='turns sortable'>\n<thead><tr><th>turn<th>prompt";
  for (const std::string& method : run.shown(kMostColumns)) {
    html += "<th class=number>" + escape_html(method) + "<br><small>TTFS, ms</small>";
  }
  html += "<th>answers</thead>\n<tbody>\n";
  size_t count = 0;
  for (const auto& [turn, rows] : turns) {
    if (++count > kMostTurns) break;
    html += turn_line(run, turn, rows, turns.size() <= kFewTurns);
  }
  html += "</tbody></table></div>\n<p class=note>";
  if (turns.size() > kMostTurns) {
    html +=
        fmt::format("The first {} of {} turns; all are in turns.csv. ", kMostTurns, turns.size());
  }
  return html +
         "Marked: words that the first text, the baseline's where there is one, lacks.</p>\n";
}

}  // namespace predgen::evaluate
