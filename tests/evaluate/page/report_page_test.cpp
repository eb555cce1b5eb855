#include "evaluate/page/report_page.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "evaluate/page/report_page.h"
#include "tests/evaluate/page/planted_report.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> figure_names(const Json& report) {
  std::vector<std::string> names;
  for (const auto& [name, contents] : report_figure_files(report)) names.push_back(name);
  return names;
}

/// The contents of a picture's file; fails if there is none.
std::string figure(const Json& report, const std::string& name) {
  for (const auto& [file, contents] : report_figure_files(report)) {
    if (file == name + ".svg") return contents;
  }
  ADD_FAILURE() << "no " << name;
  return "";
}

TEST(ReportPage, HasEveryFigureOfWhichThereIsData) {
  const Json report = planted_report();
  EXPECT_THAT(figure_names(report),
              UnorderedElementsAre("speed_up.svg", "passes.svg", "trade_off.svg", "waterfall.svg",
                                   "waste.svg", "rounds.svg", "top_k_quality.svg",
                                   "top_k_speed.svg", "input_length.svg", "timeline_typical.svg"));
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("sets/talk.jsonl"));
  EXPECT_THAT(page, HasSubstr("16 turns, 3 methods, 1 model, 1 price of a pass"));
  // What does not apply has no box.
  EXPECT_THAT(page, Not(HasSubstr("is not here")));
  EXPECT_THAT(page, Not(HasSubstr("these turns are typed")));
  EXPECT_THAT(page, Not(HasSubstr("://")));  // nothing from a network
}

TEST(ReportPage, FiguresSayTheNumbers) {
  const Json report = planted_report();
  EXPECT_THAT(figure(report, "speed_up"), HasSubstr("greedy: 500 ms 450–550"));
  EXPECT_THAT(figure(report, "speed_up"), HasSubstr("top3: 750 ms 675–825"));
  EXPECT_THAT(figure(report, "passes"), HasSubstr("greedy: 2.00× 1.80–2.20"));
  EXPECT_THAT(figure(report, "speed_up"), Not(HasSubstr("baseline:")));
  EXPECT_THAT(figure(report, "trade_off"), HasSubstr("greedy: 500 ms, 100.00"));
  EXPECT_THAT(figure(report, "trade_off"), HasSubstr("top3: 250 ms, 50.00"));
  // 0.1 s of a pass under way, 0.2 s for the first text, 0.5 s to the sentence, 0.2 s to the sound.
  const std::string waterfall = figure(report, "waterfall");
  for (const char* part :
       {"baseline: 100 a pass", "baseline: 200 first pass", "baseline: 500 rest of",
        "baseline: 200 speech", "greedy: 250 rest of"}) {
    EXPECT_THAT(waterfall, HasSubstr(part));
  }
  EXPECT_THAT(figure(report, "waste"), HasSubstr("greedy: 15 in the answer"));
  EXPECT_THAT(figure(report, "waste"), HasSubstr("75 % wasted, 40 passes ahead"));
  EXPECT_THAT(figure(report, "waste"), Not(HasSubstr("baseline")));
  // Of the eight first turns of conversations four took one pass: turns 0, 4, 8 and 12.
  EXPECT_THAT(figure(report, "rounds"), HasSubstr("greedy: 50 % 1 pass"));
  EXPECT_THAT(figure(report, "rounds"), HasSubstr("mean 5.5, n = 8"));
  EXPECT_THAT(figure(report, "rounds"), HasSubstr("Turn 2 of the conversation"));
  EXPECT_THAT(figure(report, "top_k_speed"), HasSubstr("k = 3: 250"));
  EXPECT_THAT(figure(report, "top_k_quality"), HasSubstr("k = 1: 100"));
  EXPECT_THAT(figure(report, "input_length"), HasSubstr("baseline: 800 ms (800–800)"));
  EXPECT_THAT(figure(report, "input_length"), HasSubstr(">13–16</text>"));
  EXPECT_THAT(figure(report, "input_length"), HasSubstr(">n = 4</text>"));
}

TEST(ReportPage, Table1StandsBesideThePapersOnItsSets) {
  Json report = planted_report();
  std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("<h2 id=table1>Summary</h2>"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=row>greedy<td>400<td>10.0<td>500<td>100.0<td>500 "
                              "<small>450–550</small>\n"));
  EXPECT_THAT(page, Not(HasSubstr("class=paper>The paper")));
  EXPECT_THAT(page, Not(HasSubstr("Lmsys")));
  report["config"] = "turns:\n  kind: gsm8k\n";
  page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("Table 1, beside the paper's"));
  EXPECT_THAT(page, HasSubstr("<td>4.0×<td class=paper>544<td>14.7<td>627<td>0.80<td>2.5×"));
}

TEST(ReportPage, SaysWhatIsSavedAndNoRatioToNothing) {
  Json report = planted_report();
  report["config"] = "turns:\n  kind: gsm8k\n";
  Json& greedy = report["runs"][0]["methods"]["greedy"];
  greedy["speedup"] = 721.38;
  greedy["sooner"] = {{"seconds", 0.166}, {"low", 0.15}, {"high", 0.18}};
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("<strong>166 ms sooner</strong>"));
  EXPECT_THAT(page, HasSubstr("<td>&gt; 20×"));
  EXPECT_THAT(page, Not(HasSubstr("721")));
}

TEST(ReportPage, AnswersOfFewTurnsAreOpen) {
  Json report = planted_report();
  EXPECT_THAT(format_report_page(report), Not(HasSubstr("<details open>")));
  std::erase_if(report["turns"].get_ref<Json::array_t&>(),
                [](const Json& row) { return row["turn"] > 2; });
  EXPECT_THAT(format_report_page(report), HasSubstr("<details open><summary>one text"));
}

TEST(ReportPage, ATimelineShowsWhatWasKept) {
  const Json report = planted_report();
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("<span class=kept>It was</span><s>.</s>"));
  EXPECT_THAT(page, HasSubstr("<span class=kept>It </span><s>was all.</s>"));
  const std::string timeline = figure(report, "timeline_typical");
  EXPECT_THAT(timeline, HasSubstr("draft 1, 0.90 s: It was."));
  EXPECT_THAT(timeline, HasSubstr(">500 ms</text>"));
  EXPECT_THAT(timeline, HasSubstr(">now</text>"));
}

TEST(ReportPage, MarksTextsThatDiffer) {
  const std::string page = format_report_page(planted_report());
  EXPECT_THAT(page, HasSubstr("<dt>baseline, greedy<dd>It is done."));
  EXPECT_THAT(page, HasSubstr("<dt>top3<dd>It is<mark> not</mark> done."));
  EXPECT_THAT(page, HasSubstr("<mark>2 texts</mark>"));
  EXPECT_THAT(page, HasSubstr(">one text<"));
}

TEST(ReportPage, EscapesWhatUsersWrote) {
  Json report = planted_report();
  const char* evil = "</script><img src=x>&'\"";
  for (const char* key : {"text", "prompt", "id"}) planted_row(report, "top3", 0)[key] = evil;
  for (const char* method : {"baseline", "greedy"}) {
    for (const char* key : {"text", "prompt", "category", "in_training_data"}) {
      planted_row(report, method, 0)[key] = evil;
    }
  }
  report["runs"][0]["timelines"][0]["events"][0][2] = evil;
  report["runs"][0]["timelines"][1]["events"][1][2] = evil;
  report["runs"][0]["price"]["basis"] = evil;
  report["failed"].push_back({{"turn", 3},
                              {"id", evil},
                              {"method", evil},
                              {"error", evil},
                              {"model", evil},
                              {"price", "x"}});
  report["skipped"].push_back(evil);
  report["config"] = evil;
  report["environment"]["x"] = evil;
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x&gt;"));
  for (const auto& [name, svg] : report_figure_files(report)) {
    EXPECT_THAT(svg, Not(HasSubstr("<img"))) << name;
  }
}

TEST(ReportPage, ShowsWhatWasLeftOut) {
  Json report = planted_report();
  EXPECT_THAT(format_report_page(report), Not(HasSubstr("class='alarm")));
  report["failed"].push_back({{"turn", 3},
                              {"id", "f-3"},
                              {"method", "top3"},
                              {"error", "no room"},
                              {"model", "m"},
                              {"price", "given"}});
  planted_row(report, "top3", 4)["judge_grade_problem"] = "HTTP 500";
  planted_row(report, "top3", 4)["judge_grade"] = nullptr;
  for (const char* judged : {"baseline", "greedy"})
    planted_row(report, judged, 4)["judge_grade"] = 7;
  report["training_overlap"] = {{"exact", 2}, {"normalised", 1}, {"none", 13}};
  report["runs"][0]["unseen"] = {{"methods", report["runs"][0]["methods"]},
                                 {"comparisons", Json::object()}};
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("Turns that failed, left out of every method: 1"));
  EXPECT_THAT(page, HasSubstr("<li>f-3, top3 (m, given): no room"));
  EXPECT_THAT(page, HasSubstr("Not judged, and in no mean: 1"));
  EXPECT_THAT(page, HasSubstr("id-4, top3: HTTP 500"));
  EXPECT_THAT(page, HasSubstr("stand 2 turns word for word, 1 but for"));
  EXPECT_THAT(page, HasSubstr("Turns that the training data lacks"));
  EXPECT_THAT(page, HasSubstr("<dt>baseline, greedy, top3"));  // the same text ..
  EXPECT_THAT(page, HasSubstr("Grade by the judge"));          // .. and a grade for an axis
}

TEST(ReportPage, OneMethodHasFewerFigures) {
  const Json report = planted_report({"baseline"});
  EXPECT_THAT(figure_names(report), Not(Contains("speed_up.svg")));
  EXPECT_THAT(figure_names(report), IsSupersetOf({"waterfall.svg", "timeline_typical.svg"}));
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, Not(HasSubstr("is not here")));
  EXPECT_THAT(page, Not(HasSubstr("class=paper>")));
}

TEST(ReportPage, NoTurnsAndNoRunsAndOldResultsStillMakeAPage) {
  Json report = planted_report();
  report["turns"] = Json::array();
  std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("none was answered"));
  report["runs"] = Json::array();
  EXPECT_THAT(format_report_page(report), HasSubstr("No run is in these results."));
  EXPECT_TRUE(report_figure_files(report).empty());
  Json old = planted_report();
  old["runs"][0].erase("timelines");
  for (Json& row : old["turns"]) {
    for (const char* key : {"ttft", "round", "revised_share"}) row.erase(key);
  }
  page = format_report_page(old);
  EXPECT_THAT(page, HasSubstr("hold no trace of a turn"));
  EXPECT_THAT(page, Not(HasSubstr("(Figure 3b)")));
}

TEST(ReportPage, ModelsStandBesideEachOther) {
  Json report = planted_report();
  Json other = planted_report();
  other["runs"][0]["model"] = "models/other";
  report["runs"].push_back(other["runs"][0]);
  for (Json& row : other["turns"]) {
    row["model"] = "models/other";
    row["audio_latency"] = 3 * row["audio_latency"].get<double>();
    report["turns"].push_back(row);
  }
  const std::string models = figure(report, "models");
  EXPECT_THAT(models, HasSubstr("greedy: 1500 ms 2.00×"));
  EXPECT_THAT(models, HasSubstr("greedy: 500 ms 2.00×"));
  EXPECT_THAT(figure_names(report), Contains("waterfall_run2.svg"));
  const std::string page = format_report_page(report);
  const auto count = [&](const std::string& text) {
    int found = 0;
    for (size_t at = 0; (at = page.find(text, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("id=table1"), 1);
  EXPECT_EQ(count("id='waterfall'"), 1);
  EXPECT_EQ(count(">Summary</h2>"), 2);
}

TEST(ReportPage, AccuracyByCategoryIsTheQuality) {
  Json report = planted_report();
  for (const char* method : {"baseline", "top3"}) {
    const Json share{{"share", 0.25}, {"low", 0.1}, {"high", 0.5}, {"count", 4}, {"n", 16}};
    Json& accuracy = report["runs"][0]["methods"][method]["accuracy"];
    accuracy = share;
    accuracy["by_category"] = {{"law & order", share}};
  }
  report["runs"][0]["methods"]["greedy"]["accuracy"] = nullptr;
  const std::string page = format_report_page(report);
  EXPECT_THAT(page, HasSubstr("law &amp; order<td>16<td>25.0 10-50<td>-<td>25.0 10-50"));
  EXPECT_THAT(figure(report, "trade_off"), HasSubstr("Right answers, %"));
}

TEST(ReportPage, IsMadeAgainFromItsFolder) {
  const TemporaryFolder folder;
  write_file(folder / "results.json", planted_report().dump());
  EXPECT_EQ(write_report_page_of(folder.path(), {}), folder / "report.html");
  EXPECT_EQ(read_file(folder / "report.html"), format_report_page(planted_report()));
  EXPECT_THAT(read_file(folder.path() / "figures" / "waste.svg"), HasSubstr("<svg xmlns="));
  write_report_page_of(folder / "results.json", folder / "other.html");
  EXPECT_EQ(read_file(folder / "other.html"), read_file(folder / "report.html"));
  write_file(folder / "results.json", "{\"runs\": 3}");
  expect_user_error([&] { write_report_page_of(folder.path(), {}); },
                    {"results.json", "no list 'runs'"});
}

}  // namespace
}  // namespace predgen::evaluate
