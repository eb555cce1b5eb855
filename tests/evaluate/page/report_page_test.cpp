#include "evaluate/page/report_page.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "evaluate/figure_values.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

// What the page draws is in tests/cli/eval_page_test.py.
namespace predgen::evaluate {
namespace {

using testing::HasSubstr;
using testing::Not;

Json row(const std::string& model, int turn) {
  return {{"turn", turn}, {"method", "baseline"}, {"model", model},
          {"cost", "p"},  {"prompt", "Hi"},       {"text", "It is </script><b>done."},
          {"ttfs", 0.5},  {"token_ids", {1, 2}},  {"judge_grade_problem", ""}};
}

Json results() {
  Json results{{"runs", Json::array()}, {"turns", Json::array()}, {"num_turns", 2}};
  for (const char* model : {"one", "other"}) {
    results["runs"].push_back({{"model", model},
                               {"cost", {{"name", "p"}, {"basis", "b"}}},
                               {"methods", {{"baseline", {{"ttfs", {{"mean", 0.5}}}}}}}});
    for (int turn : {0, 1}) results["turns"].push_back(row(model, turn));
  }
  complete_report(results);
  return results;
}

/// What the page holds for its scripts.
Json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(ReportPage, HoldsWhatItDraws) {
  const std::string page = format_report_page(results());
  EXPECT_THAT(page, HasSubstr("function drawPage("));
  EXPECT_THAT(page, Not(HasSubstr("<b>done")));
  const Json data = data_of(page);
  EXPECT_EQ(data["results"]["set"]["name"], "An evaluation");
  const Json& method = data["results"]["runs"][1]["methods"]["baseline"];
  EXPECT_TRUE(method["intervals"]["audio_latency"].is_null());
  EXPECT_EQ(data["tables"][0]["title"], "one, cost p (b)");
  EXPECT_EQ(data["tables"][0]["methods"]["head"][1], "ttfs ms");
  EXPECT_EQ(data["tables"][0]["methods"]["rows"][0][1], "500.0");
  EXPECT_TRUE(data["tables"][0]["groups"].is_null());
  EXPECT_EQ(data["results"]["turns"][0]["text"], "It is </script><b>done.");
  EXPECT_FALSE(data["results"]["turns"][0].contains("token_ids"));
  EXPECT_EQ(data["num_answered"], 2);
}

TEST(ReportPage, StaysSmallWhereThereAreManyTurns) {
  Json many = results();
  for (int turn = 2; turn < 600; ++turn) many["turns"].push_back(row("one", turn));
  many["turns"].back()["judge_grade_problem"] = "HTTP 500";
  const Json data = data_of(format_report_page(many));
  EXPECT_EQ(data["num_answered"], 600);
  EXPECT_EQ(data["results"]["turns"].size(), 2 + 500 + 1u);
}

TEST(ReportPage, IsMadeAgainFromItsFolder) {
  const TemporaryFolder folder;
  write_file(folder / "results.json", results().dump());
  EXPECT_EQ(write_report_page_of(folder.path(), {}), folder / "report.html");
  EXPECT_EQ(read_file(folder / "report.html"), format_report_page(results()));
  write_report_page_of(folder / "results.json", folder / "other.html");
  EXPECT_EQ(read_file(folder / "other.html"), read_file(folder / "report.html"));
  write_file(folder / "results.json", "{\"runs\": 3}");
  expect_user_error([&] { write_report_page_of(folder.path(), {}); },
                    {"results.json", "no list 'runs'"});
}

}  // namespace
}  // namespace predgen::evaluate
