#include "train/report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/train/training.h"

// What the page draws is in tests/cli/train_page_test.py.

namespace predgen::train {
namespace {

TEST(ThinLine, KeepsMeansAndExtremes) {
  Series series;
  for (int64_t step = 1; step <= 1000; ++step) {
    series.steps.push_back(step);
    series.values.push_back(step == 500 ? 9.0 : step % 2 == 0 ? 1.0 : 3.0);
  }
  series.values[7] = std::numeric_limits<double>::quiet_NaN();
  const ThinLine line = thin(series, 1000, 100);
  ASSERT_EQ(line.steps.size(), 100u);
  double highest = 0.0, sum = 0.0;
  for (size_t i = 0; i < line.steps.size(); ++i) {
    EXPECT_EQ(line.lowest[i], 1.0);
    highest = std::max(highest, line.highest[i]);
    sum += line.means[i];
    if (i > 0) {
      EXPECT_GT(line.steps[i], line.steps[i - 1]);
    }
  }
  EXPECT_EQ(highest, 9.0);
  EXPECT_NEAR(sum / 100, 2.0, 0.05);
}

TEST(ThinLine, FewValuesStayWhatTheyAre) {
  const ThinLine few = thin({{3, 3, 900}, {1.0, 2.0, 4.0}}, 1000, 100);
  EXPECT_EQ(few.means, (std::vector<double>{1.0, 2.0, 4.0}));
}

using testing::HasSubstr;

TEST_F(Training, LeavesAReport) {
  TrainConfig watched = config("out");
  watched.held_out = folder_ / "data";
  watched.eval_every = 3;
  run(watched);
  const Json data = run_report_data("out", read_run(folder_ / "out"));
  EXPECT_EQ(data["last_step"], 6);
  EXPECT_EQ(data["head"]["max_steps"], 6);
  for (const char* tag : {"train/gradient_norm", "train/learning_rate", "train/tokens_per_second",
                          "memory/process_gib", "held_out/consistency"}) {
    EXPECT_FALSE(data.at("series").at(tag).at("points").empty()) << tag;
  }
  EXPECT_THAT(data["config"].get<std::string>(), HasSubstr("max_steps: 6"));
  EXPECT_TRUE(data["identity"].contains("learning_rate"));  // of the last checkpoint
  const std::string page = read_file(folder_ / "out" / "report.html");
  EXPECT_THAT(page, HasSubstr("\"name\":\"out\""));
  // From the files alone, the same page.
  EXPECT_EQ(write_run_report(folder_ / "out", folder_ / "again.html"), folder_ / "again.html");
  EXPECT_EQ(read_file(folder_ / "again.html"), page);
}

TEST_F(Training, AReportThatCannotBeWrittenDoesNotEndTheRun) {
  TrainConfig plain = config("out");
  plain.stop_at_step = 2;
  EXPECT_THROW(run(plain), Interrupted);
  std::filesystem::remove(folder_ / "out" / "report.html");
  std::filesystem::create_directories(folder_ / "out" / "report.html" / "in the way");
  plain.stop_at_step = 0;
  run(plain, "auto");
  EXPECT_TRUE(std::filesystem::exists(weights_file("out")));
}

class RunReport : public testing::Test {
 protected:
  void write(const std::string& metrics, const std::string& watch = "") const {
    write_file(folder_ / "config.yaml", "max_steps: 40\nmode: lora\nmodel: \"a<b\"\nnew_key: 3\n");
    write_file(folder_ / "metrics.jsonl", metrics);
    if (!watch.empty()) write_file(folder_ / "watch.jsonl", watch);
  }
  Json data() const { return run_report_data("run", read_run(folder_.path())); }

  const TemporaryFolder folder_;
};

TEST_F(RunReport, TellsSkippedStepsApart) {
  write(R"({"step":1,"train/ar":2.0,"train/skipped_steps":0.0,"train/outlier_steps":0.0}
{"step":7,"train/ar":null,"train/skipped_steps":1.0,"train/outlier_steps":0.0}
{"step":9,"train/ar":2.5,"train/skipped_steps":2.0,"train/outlier_steps":1.0}
{"step":10,"train/ar":1.5,"train/skipped_steps":2.0,"train/outlier_steps":1.0}
)");
  const Json skipped = data()["skipped"];
  EXPECT_EQ(skipped, Json::parse(R"([{"step":7,"outlier":false},{"step":9,"outlier":true}])"));
  const Json loss = data()["series"]["train/ar"];
  EXPECT_EQ(loss["points"], Json::parse("[[1.0,2.0],[9.0,2.5],[10.0,1.5]]"));
  EXPECT_EQ(loss["last"], 1.5);
  EXPECT_EQ(loss["lowest"], Json::parse(R"({"value":1.5,"step":10})"));
  EXPECT_EQ(data()["head"]["model"], "a<b");
  EXPECT_TRUE(data()["identity"].empty());
}

TEST_F(RunReport, LongRunsAreThinned) {
  std::string lines;
  for (int step = 1; step <= 2000; ++step) {
    lines +=
        "{\"step\":" + std::to_string(step) + ",\"train/ar\":" + (step % 2 ? "1.0" : "3.0") + "}\n";
  }
  write(lines);
  const Json points = data()["series"]["train/ar"]["points"];
  EXPECT_EQ(points.size(), 240u);
  EXPECT_EQ(points[5].size(), 4u);
  EXPECT_EQ(points[5][2], 1.0);
  EXPECT_EQ(points[5][3], 3.0);
}

TEST_F(RunReport, ComparesAnswersToTheSamePrompts) {
  write("{\"step\":0,\"watch/repetition\":0.0}\n",
        R"({"step":0,"watched":"a","answers":[{"text":"old"}],"prompts":["Hi?"]}
{"step":5,"watched":"b","answers":[{"text":"first"}],"prompts":["Who?"]}
{"step":9,"watched":"b","answers":[{"text":"last"}]}
)");
  EXPECT_EQ(data()["answers"],
            Json::parse(R"({"first_step":5,"last_step":9,"rows":[["Who?","first","last"]]})"));
}

TEST_F(RunReport, StopsAtALineCutOffInTheMiddle) {
  write("{\"step\":1,\"train/ar\":2.0}\n{\"step\":5,\"train/ar\":1.0}\n{\"step\":6,\"tr");
  EXPECT_EQ(data()["last_step"], 5);
  EXPECT_TRUE(data()["answers"].is_null());
}

TEST_F(RunReport, RefusesAFolderThatIsNoRun) {
  expect_user_error([&] { data(); }, {"metrics.jsonl", folder_.path().string()});
}

}  // namespace
}  // namespace predgen::train
