#include "voice/piper/piper_config.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/json.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Json small_config() {
  return parse_json(R"({"audio": {"sample_rate": 22050}, "espeak": {"voice": "de"},
    "inference": {"noise_scale": 0.5, "length_scale": 1.5, "noise_w": 0.25},
    "phoneme_id_map": {"_": [0], "^": [1], "$": [2], " ": [3], ",": [8], ".": [10], "a": [14],
                       "b": [15, 16], "c": [17], "\u0327": [140], "ab": [99]},
    "phoneme_map": {"x": ["a", "b"]}})",
                    "the test's configuration");
}

struct PiperConfigTest : testing::Test {
  PiperConfig load(const Json& json) const {
    write_file(folder / "voice.onnx.json", json.dump());
    return PiperConfig::load(folder / "voice.onnx.json");
  }
  TemporaryFolder folder;
};

TEST_F(PiperConfigTest, ReadsWhatPiperWrites) {
  const PiperConfig config = load(small_config());
  EXPECT_EQ(config.sample_rate, 22050);
  EXPECT_EQ(config.language, "de");
  EXPECT_EQ(config.noise_scale, 0.5);
  EXPECT_EQ(config.length_scale, 1.5);
  EXPECT_EQ(config.noise_w, 0.25);
  EXPECT_THAT(config.speakers, IsEmpty());
}

TEST_F(PiperConfigTest, PhonemesHavePausesBetweenThem) {
  const PiperConfig config = load(small_config());
  EXPECT_THAT(config.phoneme_ids("a c_."), ElementsAre(1, 0, 14, 0, 3, 0, 17, 0, 10, 0, 2));
  EXPECT_THAT(config.phoneme_ids("b"), ElementsAre(1, 0, 15, 16, 0, 2));
}

TEST_F(PiperConfigTest, PhonemesAreDecomposedAndReplaced) {
  const PiperConfig config = load(small_config());
  EXPECT_THAT(config.phoneme_ids("\u00E7"), ElementsAre(1, 0, 17, 0, 140, 0, 2));
  EXPECT_THAT(config.phoneme_ids("x"), ElementsAre(1, 0, 14, 0, 15, 16, 0, 2));
}

TEST_F(PiperConfigTest, UnknownOnesAreLeftOutAndMarksBecomePlainOnes) {
  const PiperConfig config = load(small_config());
  EXPECT_THAT(config.phoneme_ids("a\u0283c"), ElementsAre(1, 0, 14, 0, 17, 0, 2));
  EXPECT_THAT(config.phoneme_ids("a\u2014"), ElementsAre(1, 0, 14, 0, 8, 0, 2));
  EXPECT_THAT(config.phoneme_ids("a\u2026"), ElementsAre(1, 0, 14, 0, 10, 0, 2));
  EXPECT_THAT(config.phoneme_ids("\u0283"), IsEmpty());
  EXPECT_THAT(config.phoneme_ids(""), IsEmpty());
}

TEST_F(PiperConfigTest, SpeakersAreSortedByTheirIds) {
  Json json = small_config();
  json["num_speakers"] = 2;
  EXPECT_THAT(load(json).speakers, ElementsAre(Pair("speaker0", 0), Pair("speaker1", 1)));
  json["speaker_id_map"] = {{"zoe", 1}, {"anna", 0}};
  EXPECT_THAT(load(json).speakers, ElementsAre(Pair("anna", 0), Pair("zoe", 1)));
}

TEST_F(PiperConfigTest, WhatIsNoVoiceOfEspeaksPhonemesIsAUserError) {
  const auto refuse = [&](const Json& json, const std::vector<std::string>& parts) {
    expect_user_error([&] { load(json); }, parts);
  };
  Json json = small_config();
  json["phoneme_type"] = "text";
  refuse(json, {"voice.onnx.json", "'text'", "espeak"});
  json["phoneme_type"] = 5;
  refuse(json, {"voice.onnx.json"});
  json = small_config();
  json.erase("phoneme_id_map");
  refuse(json, {"voice.onnx.json", "phoneme_id_map"});
  for (const char* mark : {"_", "^", "$"}) {
    json = small_config();
    json["phoneme_id_map"].erase(mark);
    refuse(json, {"phoneme_id_map lacks '" + std::string(mark)});
  }
  json = small_config();
  json["phoneme_id_map"]["a"] = "one";
  refuse(json, {"voice.onnx.json"});
  json = small_config();
  json["audio"].erase("sample_rate");
  refuse(json, {"voice.onnx.json", "sample_rate"});
  json["audio"]["sample_rate"] = 0;
  refuse(json, {"sample_rate"});
  json = small_config();
  json.erase("espeak");
  refuse(json, {"voice.onnx.json", "voice"});
  refuse(Json::array(), {"voice.onnx.json"});
  expect_user_error([] { PiperConfig::load("/nowhere.json"); }, {"/nowhere.json"});
}

}  // namespace
}  // namespace predgen
