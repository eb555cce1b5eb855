#include "evaluate/page/report_page.h"

#include <array>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/page/page_with_data.h"
#include "evaluate/figure_values.h"
#include "evaluate/method_table.h"

namespace predgen::evaluate {

std::string_view page_source();  // cmake/EmbedReport.cmake makes it of the files beside this one

namespace {

constexpr size_t kMostTurns = 500;  // whose texts the page has

/// What the page shows of a turn's row.
constexpr std::array kOfARow{"turn",
                             "id",
                             "model",
                             "cost",
                             "method",
                             "prompt",
                             "text",
                             "category",
                             "ttfs",
                             "audio_latency",
                             "lead_time",
                             "in_training_data",
                             "correct",
                             "judge_grade",
                             "judge_grade_problem",
                             "judge_against_baseline_problem"};

bool has_problem(const Json& row) {
  return !text_at(row, {"judge_grade_problem"}).empty() ||
         !text_at(row, {"judge_against_baseline_problem"}).empty();
}

/// Those that the first run answered, which the page lists.
std::set<Json> answered_turns(const Json& report) {
  std::set<Json> turns;
  const Json& runs = at_path(report, {"runs"});
  for (const Json& row : at_path(report, {"turns"})) {
    if (!runs.empty() && is_of_run(row, runs.front())) turns.insert(at_path(row, {"turn"}));
  }
  return turns;
}

/// Rows of the first of these turns, of those with a timeline, and what was not judged.
Json shown_rows(const Json& report, std::set<Json> turns) {
  if (turns.size() > kMostTurns) turns.erase(std::next(turns.begin(), kMostTurns), turns.end());
  for (const Json& run : at_path(report, {"runs"})) {
    for (const Json& timeline : at_path(run, {"timelines"})) {
      turns.insert(at_path(timeline, {"turn"}));
    }
  }
  Json rows = Json::array();
  for (const Json& row : at_path(report, {"turns"})) {
    if (!turns.contains(at_path(row, {"turn"})) && !has_problem(row)) continue;
    Json& shown = rows.emplace_back(Json::object());
    for (const char* key : kOfARow) {
      if (const Json& value = at_path(row, {key}); !value.is_null()) shown[key] = value;
    }
  }
  return rows;
}

Json table_json(const TextTable& table) { return {{"head", table.head}, {"rows", table.rows}}; }

Json tables_of(const Json& run) {
  Json groups;
  if (at_path(run, {"groups"}).is_object()) {
    for (const char* by : {"last_change", "length", "source", "tools"}) {
      const bool has_none = at_path(run, {"groups", by}).empty();
      if (has_none && std::string_view(by) == "tools") continue;  // few sets have some
      groups.push_back(group_table(run, by));
    }
  }
  const Json& unseen = at_path(run, {"unseen"});
  return {{"title", run_title(run)},
          {"methods", table_json(method_table(run))},
          {"unseen", unseen.is_object() ? table_json(method_table(unseen)) : Json()},
          {"categories", table_json(category_table(run))},
          {"groups", groups}};
}

}  // namespace

std::string format_report_page(Json report) {
  Json tables = Json::array();
  for (const Json& run : at_path(report, {"runs"})) tables.push_back(tables_of(run));
  const std::string heard = heard_line(report);
  const std::set<Json> answered = answered_turns(report);
  report["turns"] = shown_rows(report, answered);
  for (const char* of_the_first_run : {"methods", "comparisons", "unseen"}) {
    report.erase(of_the_first_run);
  }
  report.erase("questions");                             // a judge's
  for (Json& run : report["runs"]) run.erase("groups");  // the tables have them
  return page_with_data(page_source(), {{"results", std::move(report)},
                                        {"tables", std::move(tables)},
                                        {"heard", heard},
                                        {"num_answered", answered.size()}});
}

std::filesystem::path write_report_page_of(const std::filesystem::path& run,
                                           const std::filesystem::path& file) {
  const std::filesystem::path results =
      std::filesystem::is_directory(run) ? run / "results.json" : run;
  Json report = read_json(results);
  for (const char* key : {"runs", "turns"}) {
    if (at_path(report, {key}).is_array()) continue;
    throw UserError("{} is not a results.json of this version of predgen eval: it has no list '{}'",
                    results.string(), key);
  }
  complete_report(report);
  std::filesystem::path target = file.empty() ? results.parent_path() / "report.html" : file;
  write_file(target, format_report_page(std::move(report)));
  return target;
}

}  // namespace predgen::evaluate
