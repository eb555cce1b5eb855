#include "hear/transcripts/scheduled_source.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "hear/transcripts/transcript_lines.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

TEST(TypeText, WithholdsAWordUntilWhiteSpace) {
  const auto typed = type_text("Hé, you  there", 600, Seconds(2));  // 0.1 s a character
  ASSERT_EQ(typed.size(), 3u);
  EXPECT_EQ(typed[0].text, "Hé,");
  EXPECT_DOUBLE_EQ(typed[0].time.count(), 2.4);  // the space is character 4
  EXPECT_EQ(typed[1].text, "Hé, you");
  EXPECT_DOUBLE_EQ(typed[1].time.count(), 2.8);
  EXPECT_EQ(typed[2].text, "Hé, you  there");
  EXPECT_DOUBLE_EQ(typed[2].time.count(), 3.4);
  EXPECT_TRUE(typed[2].is_final && !typed[1].is_final && !typed[0].is_final);
}

TEST(TypeText, FinalIsItsOwnEvent) {
  const auto typed = type_text("hi ", 60);
  ASSERT_EQ(typed.size(), 2u);
  EXPECT_EQ(typed[0].text, "hi");
  EXPECT_EQ(typed[1].text, "hi ");
  EXPECT_TRUE(typed[1].is_final);
  EXPECT_EQ(type_text("", 60).size(), 1u);
  expect_user_error([] { type_text("hi", 0); }, {"rate", "0"});
}

std::vector<Transcript> two_turns() {
  return {{.text = "a", .time = Seconds(1)},
          {.text = "a b", .time = Seconds(2)},
          {.text = "a b", .time = Seconds(2), .is_final = true},
          {.text = "c", .time = Seconds(3)},
          {.text = "c d", .time = Seconds(4)}};
}

TEST(ScheduledSource, ShowsNothingBeforeItsTimeNorAfterAFinal) {
  ScheduledSource source(two_turns());
  VirtualClock clock(VirtualClock::Computation::kCostTable);
  EXPECT_FALSE(source.latest(Seconds(0.9)));
  EXPECT_EQ(source.latest(Seconds(1))->text, "a");
  EXPECT_TRUE(source.latest(Seconds(9))->is_final);
  const auto first = source.wait_newer(0, clock);
  EXPECT_EQ(first->text, "a");
  EXPECT_DOUBLE_EQ(clock.now().count(), 1);
  clock.advance(Seconds(5));
  const auto final = source.wait_newer(first->revision, clock);
  EXPECT_TRUE(final->is_final);
  EXPECT_EQ(final->text, "a b");
  EXPECT_DOUBLE_EQ(final->time.count(), 2);
  // The next turn: everything has arrived; input without a final one ends with one.
  EXPECT_EQ(source.latest(clock.now())->text, "c d");
  const auto last = source.wait_newer(0, clock);
  EXPECT_EQ(last->text, "c d");
  EXPECT_TRUE(last->is_final);
  EXPECT_FALSE(source.wait_newer(0, clock));
  EXPECT_DOUBLE_EQ(clock.now().count(), 6);
}

TEST(ScheduledSource, RejectsTimesThatRunBackwards) {
  auto transcripts = two_turns();
  transcripts[3].time = Seconds(0.5);
  expect_user_error([&] { ScheduledSource source(transcripts); }, {"transcript 4", "0.5"});
}

TEST(ReadRecordings, LastTextIsFinalAndEmptyLogsAreListed) {
  const TemporaryFolder folder;
  write_file(folder / "asr.json",
             R"({"Who am I?": [[" Who", 0.0], [" Who am I", 0.5]], "nothing": []})");
  const Recordings read = read_recordings(folder / "asr.json");
  EXPECT_EQ(read.empty, (std::vector<std::string>{"nothing"}));
  ASSERT_EQ(read.recordings.size(), 1u);
  const auto moved = shifted(read.recordings[0].transcripts, Seconds(10));
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved[1].text, "Who am I");
  EXPECT_TRUE(moved[1].is_final && !moved[0].is_final);
  EXPECT_DOUBLE_EQ(moved[1].time.count(), 10.5);
}

TEST(ReadRecordings, MaySayWhatTheVoiceWas) {
  const TemporaryFolder folder;
  write_file(
      folder / "asr.json",
      R"({"1": {"said": "Who am I?", "voice_ended": 0.75, "transcripts": [["Who", 0.5], ["Who am I", 1]]},
                 "2": {"said": "Is it late?", "voice_ended": 2, "cut_off": true, "transcripts": [["Is", 0.5]]},
                 "3": [["Go", 0.5]]})");
  const std::vector<Recording> read = read_recordings(folder / "asr.json").recordings;
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].voice->said, "Who am I?");
  EXPECT_EQ(read[0].voice->ended, Seconds(0.75));
  EXPECT_EQ(read[0].transcripts[1].text, "Who am I");
  EXPECT_FALSE(read[0].voice->is_cut_off);
  EXPECT_TRUE(read[1].voice->is_cut_off);
  EXPECT_FALSE(read[2].voice);
}

TEST(ReadRecordings, NamesTheBadEntry) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    write_file(folder / "asr.json", text);
    read_recordings(folder / "asr.json");
  };
  expect_user_error([&] { read(R"({"x": [["a", 0.5], ["b"]]})"); }, {"entry 2", "'x'"});
  expect_user_error([&] { read(R"({"x": [["a", 0.5], ["b", 0.1]]})"); }, {"entry 2", "earlier"});
  expect_user_error([&] { read(R"({"x": 3})"); }, {"'x'", "list"});
  expect_user_error([&] { read("[]"); }, {"object"});
  const auto read_one = [&](const std::string& fields) {
    read(R"({"x": {"transcripts": [["a", 1]])" + fields + "}}");
  };
  expect_user_error([&] { read_one(""); }, {"'x'", "said", "missing"});
  expect_user_error([&] { read_one(R"(, "said": " ", "voice_ended": 1)"); },
                    {"'x'", "said", "blank"});
  expect_user_error([&] { read_one(R"(, "said": "a", "voice_ended": -1)"); },
                    {"'x'", "voice_ended"});
  expect_user_error([&] { read(R"({"x": {"said": "a", "voice_ended": 1}})"); }, {"'x'", "list"});
}

TEST(ReadTranscriptFile, FollowsTimesAndDropsLateNews) {
  const TemporaryFolder folder;
  write_file(folder / "t.jsonl",
             "{\"text\": \"a\", \"time\": 0.5, \"revision\": 2}\n\n"
             "{\"text\": \"old\", \"revision\": 1}\n"
             "{\"text\": \"a b\", \"time\": 1.5, \"revision\": 3, \"end_of_turn\": true}\n"
             "{\"text\": \"c\", \"final\": true, \"end_of_turn\": false, \"revision\": 1}\n");
  const auto read = read_transcript_file(folder / "t.jsonl");
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[1].text, "a b");
  EXPECT_TRUE(read[1].is_final);
  EXPECT_FALSE(read[2].is_final);
  EXPECT_DOUBLE_EQ(read[2].time.count(), 1.5);
  write_file(folder / "t.jsonl", "{\"text\": \"a\"}\n{\"txt\": 1}\n");
  expect_user_error([&] { read_transcript_file(folder / "t.jsonl"); }, {"t.jsonl:2", "text"});
}

}  // namespace
}  // namespace predgen
