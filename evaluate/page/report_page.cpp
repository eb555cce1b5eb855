#include "evaluate/page/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evaluate/page/figures.h"
#include "evaluate/page/groups_table.h"
#include "evaluate/page/method_columns.h"
#include "evaluate/page/page_assets.h"
#include "evaluate/page/page_head.h"
#include "evaluate/page/page_tables.h"
#include "evaluate/page/paper_table.h"
#include "evaluate/page/turns_table.h"
#include "page/page_style.h"

namespace predgen::evaluate {
namespace {

/// Turns with timelines and why they were chosen, the typical one first.
std::vector<std::pair<std::string, int64_t>> chosen_turns(const RunView& run) {
  std::map<std::string, int64_t> by_reason;
  for (const Json& timeline : at_path(run.run(), {"timelines"})) {
    by_reason[text_at(timeline, {"why"})] =
        static_cast<int64_t>(number_at(timeline, {"turn"}).value_or(0));
  }
  std::vector<std::pair<std::string, int64_t>> chosen;
  for (const char* why : {"typical", "best", "worst"}) {
    if (const auto turn = by_reason.find(why); turn != by_reason.end()) chosen.push_back(*turn);
  }
  return chosen;
}

std::vector<Figure> timeline_figures(const RunView& run) {
  std::vector<Figure> figures;
  for (const auto& [why, turn] : chosen_turns(run)) {
    figures.push_back(timeline_figure(run, turn, why));
  }
  if (figures.empty()) figures.push_back(timeline_figure(run, -1, "typical"));
  return figures;
}

/// The first run has the picture of all runs, too.
std::vector<Figure> chart_figures(const std::vector<RunView>& runs, size_t i) {
  const RunView& run = runs[i];
  std::vector<Figure> figures;
  if (i == 0) figures.push_back(runs_figure(runs));
  for (const auto make :
       {speed_up_figure, passes_figure, trade_off_figure, waterfall_figure, waste_figure,
        rounds_figure, top_k_quality_figure, top_k_speed_figure, length_figure, revision_figure}) {
    figures.push_back(make(run));
  }
  return figures;
}

std::string charts_html(const std::vector<Figure>& figures) {
  std::string html = "<div class=charts>\n";
  for (const Figure& figure : figures) {
    if (figure.missing.empty()) html += figure_html(figure);  // else it does not apply
  }
  return html + "</div>\n";
}

std::string timelines_html(const RunView& run) {
  std::string html = "<h2 id=timelines>One turn, from the first word to the first sound</h2>\n";
  const auto chosen = chosen_turns(run);
  if (chosen.empty()) return html + figure_html(timeline_figures(run).front());
  html += fmt::format(
      "<p class=soft>Of the first twenty turns of the set those in which {} saves the median time, "
      "the most "
      "and the least. A filled draft was kept by the verification that followed; a "
      "pale one was computed in vain.</p>\n",
      escape_html(text_at(at_path(run.run(), {"timelines"}).front(), {"against"})));
  for (const auto& [why, turn] : chosen) {
    html += "<div class=timeline>" + figure_html(timeline_figure(run, turn, why)) +
            draft_tables(run, turn) + "</div>\n";
  }
  return html;
}

std::string run_html(const std::vector<RunView>& runs, size_t i) {
  const RunView& run = runs[i];
  return "<p class=soft>" + escape_html(run_title(run.run())) + "</p>\n" + headline_tiles(run) +
         paper_table(run) + "<h2 id=figures>Speed, quality and cost</h2>\n" +
         charts_html(chart_figures(runs, i)) + timelines_html(run) +
         "<h2 id=methods>Every figure of every method</h2>\n" + methods_tables(run) +
         category_table(run) + groups_tables(run);
}

std::vector<RunView> views_of(const Json& report) {
  std::vector<RunView> views;
  for (const Json& run : at_path(report, {"runs"})) views.emplace_back(report, run);
  return views;
}

std::string settings_html(const Json& report) {
  return "<h2 id=settings>Settings</h2>\n<details><summary>Configuration</summary><pre>" +
         escape_html(text_at(report, {"config"})) +
         "</pre></details>\n<details><summary>Environment</summary><pre>" +
         escape_html(to_text(at_path(report, {"environment"}), 2)) + "</pre></details>\n";
}

}  // namespace

std::string format_report_page(const Json& report) {
  const std::vector<RunView> runs = views_of(report);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<meta name=viewport "
      "content='width=device-width'><meta name=color-scheme content='light dark'>\n"
      "<title>{} · predgen eval</title>\n<style>{}{}</style>\n<main>\n",
      escape_html(set_name(report)), kPageStyle, kEvalStyle);
  html += page_head(report, runs);
  if (runs.empty()) html += "<p class=missing>No run is in these results.</p>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    html += i == 0
                ? run_html(runs, i)
                : fmt::format("<details class=run><summary>{}, price {}</summary>\n{}</details>\n",
                              escape_html(runs[i].model()), escape_html(runs[i].price()),
                              without_ids(run_html(runs, i)));
  }
  if (!runs.empty()) html += "<h2 id=turns>Turns</h2>\n" + turns_table(runs.front());
  return html + settings_html(report) + "</main>\n<script>" + kEvalScript + "</script>\n";
}

std::vector<std::pair<std::string, std::string>> report_figure_files(const Json& report) {
  const std::vector<RunView> runs = views_of(report);
  std::vector<std::pair<std::string, std::string>> files;
  const auto take = [&](const std::vector<Figure>& figures, const std::string& suffix) {
    for (const Figure& figure : figures) {
      if (!figure.missing.empty()) continue;
      files.emplace_back(figure.name + suffix + ".svg", figure_file(figure));
    }
  };
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string suffix = i == 0 ? "" : fmt::format("_run{}", i + 1);
    take(chart_figures(runs, i), suffix);
    take(timeline_figures(runs[i]), suffix);
  }
  return files;
}

void write_report_page(const Json& report, const std::filesystem::path& file) {
  const std::filesystem::path figures = file.parent_path() / "figures";
  make_folder(figures);
  for (const auto& [name, contents] : report_figure_files(report)) {
    write_file(figures / name, contents);
  }
  write_file(file, format_report_page(report));
}

std::filesystem::path write_report_page_of(const std::filesystem::path& run,
                                           const std::filesystem::path& file) {
  const std::filesystem::path results =
      std::filesystem::is_directory(run) ? run / "results.json" : run;
  const Json report = read_json(results);
  for (const char* key : {"runs", "turns"}) {
    if (at_path(report, {key}).is_array()) continue;
    throw UserError("{} is not a results.json of this version of predgen eval: it has no list '{}'",
                    results.string(), key);
  }
  std::filesystem::path target = file.empty() ? results.parent_path() / "report.html" : file;
  write_report_page(report, target);
  return target;
}

}  // namespace predgen::evaluate
