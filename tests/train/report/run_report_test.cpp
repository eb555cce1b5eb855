#include "train/report/run_report.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/train/training.h"

namespace predgen::train {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Training, LeavesAReport) {
  TrainConfig watched = config("out");
  watched.held_out = folder_ / "data";
  watched.eval_every = 3;
  run(watched);
  const std::string page = read_file(folder_ / "out" / "report.html");
  EXPECT_THAT(page, HasSubstr("<h1>out</h1>"));
  EXPECT_THAT(page, HasSubstr("step 6 of 6"));
  for (const char* title : {"Loss, nats per token", "Gradient norm", "Learning rate", "Speed",
                            "Most memory", "consistency, held out"}) {
    EXPECT_THAT(page, HasSubstr(title));
  }
  EXPECT_THAT(page, HasSubstr("max_steps: 6"));           // the configuration
  EXPECT_THAT(page, HasSubstr("<td>learning_rate<td>"));  // the identity, of the last checkpoint
  EXPECT_THAT(page, Not(HasSubstr("://")));               // nothing from a network
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
  std::string page() const { return read_file(write_run_report(folder_.path())); }

  const TemporaryFolder folder_;
};

TEST_F(RunReport, MarksSkippedSteps) {
  write(R"({"step":1,"train/ar":2.0,"train/skipped_steps":0.0,"train/outlier_steps":0.0}
{"step":7,"train/ar":null,"train/skipped_steps":1.0,"train/outlier_steps":0.0}
{"step":9,"train/ar":2.5,"train/skipped_steps":2.0,"train/outlier_steps":1.0}
{"step":10,"train/ar":1.5,"train/skipped_steps":2.0,"train/outlier_steps":1.0}
)");
  EXPECT_THAT(page(), HasSubstr("step 7 skipped: gradient not finite"));
  EXPECT_THAT(page(), HasSubstr("step 9 skipped: outlier"));
  EXPECT_THAT(page(), Not(HasSubstr("step 10 skipped")));
  EXPECT_THAT(page(), HasSubstr("<strong>2</strong><span>of which outliers: 1</span>"));
  EXPECT_THAT(page(), HasSubstr("a&lt;b"));
  EXPECT_THAT(page(), HasSubstr("No checkpoint yet."));
}

TEST_F(RunReport, ShowsTheWatchAndWarns) {
  const std::string watch =
      R"({"step":0,"repetition":0.0,"answers":[{"text":"<i>Sure.","token_ids":[1]}],"prompts":["Hi?"]}
{"step":20,"repetition":1.0,"answers":[{"text":"","token_ids":[]}]}
)";
  write(R"({"step":0,"watch/collapsed":0.0,"watch/repetition":0.0}
{"step":20,"watch/collapsed":1.0,"watch/repetition":1.0}
)",
        watch);
  EXPECT_THAT(page(), HasSubstr("The model collapses."));
  EXPECT_THAT(page(),
              HasSubstr("<tr><td>Hi?<td>&lt;i&gt;Sure.<td><span class=soft>(nothing)</span></tr>"));
  EXPECT_THAT(page(), HasSubstr("[20.0,100.0]"));  // percent
}

TEST_F(RunReport, ComparesAnswersToTheSamePrompts) {
  write("{\"step\":0,\"watch/repetition\":0.0}\n",
        R"({"step":0,"watched":"a","answers":[{"text":"old"}],"prompts":["Hi?"]}
{"step":5,"watched":"b","answers":[{"text":"first"}],"prompts":["Who?"]}
{"step":9,"watched":"b","answers":[{"text":"last"}]}
)");
  EXPECT_THAT(page(), HasSubstr("<tr><td>Who?<td>first<td>last</tr>"));
}

TEST_F(RunReport, SaysWhatTheRestTakesAndNotThatItRuns) {
  write("{\"step\":10,\"train/ar\":2.0,\"train/seconds\":30.0}\n");
  EXPECT_THAT(page(), HasSubstr("step 10 of 40 · 30 s of training · about 90 s for the rest"));
  write("{\"step\":40,\"train/ar\":2.0,\"train/seconds\":120.0}\n");
  EXPECT_THAT(page(), Not(HasSubstr("for the rest")));
}

TEST_F(RunReport, StopsAtALineCutOffInTheMiddle) {
  write("{\"step\":1,\"train/ar\":2.0}\n{\"step\":5,\"train/ar\":1.0}\n{\"step\":6,\"tr");
  EXPECT_THAT(page(), HasSubstr("step 5 of 40"));
}

TEST_F(RunReport, RefusesAFolderThatIsNoRun) {
  expect_user_error([&] { page(); }, {"metrics.jsonl", folder_.path().string()});
}

}  // namespace
}  // namespace predgen::train
