#include "voice/piper/piper_voice.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/json.h"
#include "core/setting.h"
#include "hear/onnx/onnx_runtime.h"
#include "tests/fakes/environment_variable.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_graph.h"
#include "tests/fakes/onnx_file.h"
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

Json voice_config() {
  Json json = parse_json(R"({"audio": {"sample_rate": 16000}, "espeak": {"voice": "en-us"},
                             "phoneme_id_map": {"_": [0], "^": [1], "$": [2]}})",
                         "the test's configuration");
  for (char c = 'a'; c <= 'z'; ++c) json["phoneme_id_map"][std::string(1, c)] = {c - 'a' + 3};
  return json;
}

/// Sound that depends on all inputs, 100 samples for each id.
FakeGraph fake_piper_graph(std::vector<at::Tensor>* given = nullptr, bool has_speakers = false) {
  std::vector<std::string> inputs{"input", "input_lengths", "scales"};
  if (has_speakers) inputs.emplace_back("sid");
  return FakeGraph(inputs, {"output"}, [given](const std::vector<at::Tensor>& run) {
    if (given != nullptr) *given = run;
    const at::Tensor ids = run[0].reshape(-1).to(at::kFloat);
    at::Tensor sound = ids.unsqueeze(1).expand({ids.size(0), 100}).reshape({1, 1, 1, -1}) / 100;
    if (run.size() > 3) sound = sound + run[3].to(at::kFloat) / 10;
    return std::vector<at::Tensor>{sound};
  });
}

struct PiperVoiceTest : EspeakTest {
  std::shared_ptr<const PiperModel> model(FakeGraph graph, const Json& json,
                                          const PiperSettings& settings = {}) const {
    write_file(folder / "voice.onnx.json", json.dump());
    return std::make_shared<const PiperModel>(std::make_unique<const FakeGraph>(std::move(graph)),
                                              PiperConfig::load(folder / "voice.onnx.json"),
                                              settings);
  }
  TemporaryFolder folder;
};

TEST_F(PiperVoiceTest, SpeaksAsItsConfigurationSays) {
  std::vector<at::Tensor> given;
  const PiperVoice voice(model(fake_piper_graph(&given), voice_config()), "joe", {});
  EXPECT_EQ(voice.sample_rate(), 16000);
  EXPECT_EQ(voice.language(), "en-us");
  EXPECT_THAT(voice.names(), ElementsAre("joe"));
  EXPECT_GT(speak(*voice.synthesizer("joe"), "Hello.").size(), 1000U);
  ASSERT_EQ(given.size(), 3U);
  EXPECT_EQ(given[1].item<int64_t>(), given[0].numel());
  EXPECT_TRUE(at::allclose(given[2], at::tensor({0.667F, 1.0F, 0.8F})));
  speak(*voice.synthesizer("joe", 1.25), "Hello.");
  EXPECT_TRUE(at::allclose(given[2], at::tensor({0.667F, 0.8F, 0.8F})));
  EXPECT_EQ(voice.speeds().fastest, 4);
  expect_user_error([&] { voice.synthesizer("nobody"); }, {"'nobody'", "joe"});
}

TEST_F(PiperVoiceTest, SettingsGoBeforeTheVoicesOwn) {
  std::vector<at::Tensor> given;
  Json json = voice_config();
  json["inference"] = {{"noise_scale", 0.5}, {"length_scale", 3}, {"noise_w", 0.25}};
  PiperModel own(std::make_unique<const FakeGraph>(fake_piper_graph(&given)),
                 model(fake_piper_graph(), json)->config(), {.speed = 2});
  own.run({1, 0, 5, 0, 2}, 0);
  EXPECT_TRUE(at::allclose(given[2], at::tensor({0.5F, 1.5F, 0.25F})));
  PiperModel set(std::make_unique<const FakeGraph>(fake_piper_graph(&given)), own.config(),
                 {.noise_scale = 0, .noise_w = 1});
  set.run({1, 0, 5, 0, 2}, 0);
  EXPECT_TRUE(at::allclose(given[2], at::tensor({0.0F, 3.0F, 1.0F})));
}

TEST_F(PiperVoiceTest, SpeakersAreItsNames) {
  std::vector<at::Tensor> given;
  Json json = voice_config();
  json["num_speakers"] = 3;
  json["speaker_id_map"] = {{"anna", 0}, {"ben", 1}, {"zoe", 2}};
  const auto speakers = model(fake_piper_graph(&given, true), json);
  const PiperVoice voice(speakers, "several", {.speaker = "zoe"});
  EXPECT_THAT(voice.names(), ElementsAre("zoe", "anna", "ben"));
  const auto ben = speak(*voice.synthesizer("ben"), "Hello.");
  EXPECT_EQ(given[3].item<int64_t>(), 1);
  EXPECT_NE(speak(*voice.synthesizer(), "Hello."), ben);
  EXPECT_EQ(given[3].item<int64_t>(), 2) << "the one that was chosen";
  expect_user_error([&] { PiperVoice(speakers, "several", {.speaker = "nobody"}); },
                    {"'nobody'", "anna"});
  expect_user_error([&] { model(fake_piper_graph(), json); }, {"fake.onnx", "'sid'"});
}

TEST_F(PiperVoiceTest, ConversationsShareItAndSpeakAsIfAlone) {
  expect_to_speak_as_if_alone(PiperVoice(model(fake_piper_graph(), voice_config()), "joe", {}));
}

TEST_F(PiperVoiceTest, NoSampleIsLouderThanOne) {
  const PiperVoice voice(
      model(FakeGraph({"input", "input_lengths", "scales"}, {"output"},
                      [](const std::vector<at::Tensor>&) {
                        return std::vector<at::Tensor>{at::tensor({-3.0F, 2.0F})};
                      }),
            voice_config()),
      "loud", {});
  const auto samples = speak(*voice.synthesizer(), "Hello.");
  EXPECT_EQ(samples[0], -1);
  EXPECT_EQ(samples[1], 1);
}

TEST(PiperOptions, AVoiceIsAFolderAFileOrANameAmongTheModels) {
  const TemporaryFolder models;
  make_folder(models / "joe");
  write_file(models / "joe/en.onnx", "");
  const EnvironmentVariable folder("PREDGEN_MODELS", models.path().c_str());
  EXPECT_EQ(PiperOptions{.voice = "joe"}.file(), models / "joe/en.onnx");
  EXPECT_EQ(PiperOptions{.voice = models / "joe"}.file(), models / "joe/en.onnx");
  EXPECT_EQ(PiperOptions{.voice = models / "joe/en.onnx"}.file(), models / "joe/en.onnx");
  expect_user_error([] { PiperOptions{.voice = "ann"}.file(); }, {"ann: no such folder", "joe"});
  expect_user_error([] { PiperOptions{.voice = ""}.file(); }, {"no such folder"});
}

TEST(PiperOptions, TheShippedFileHasTheDefaults) {
  ConfigReader reader = ConfigReader::load("configs/runtime/piper.yaml");
  auto file = read_settings<PiperOptions>(reader);
  reader.finish();
  PiperOptions none{.voice = "joe"};
  EXPECT_EQ(settings_yaml(settings_of(file)), settings_yaml(settings_of(none)));
}

TEST_F(PiperVoiceTest, FoldersThatAreNoVoiceAreUserErrors) {
  if (!OnnxRuntime::is_there()) GTEST_SKIP() << "there is no ONNX Runtime (PREDGEN_SPEECH=OFF)";
  const auto load = [&](const std::filesystem::path& path) {
    return [path] { PiperVoice voice(PiperOptions{.voice = path}); };
  };
  expect_user_error(load("/nowhere"), {"/nowhere: no such folder", "NAME.onnx.json"});
  expect_user_error(load(folder.path()), {"has no .onnx file"});
  write_file(folder / "b.onnx", "no network");
  expect_user_error(load(folder.path()), {"b.onnx.json"});
  write_file(folder / "b.onnx.json", voice_config().dump());
  write_file(folder / "a.onnx", "no network");
  expect_user_error(load(folder.path()), {"2 voices", "a.onnx and b.onnx", "name one"});
  expect_user_error(load(folder / "b.onnx"), {"b.onnx", "fetch it again"});
  OnnxFile file;
  file.add_input("input", OnnxFile::Type::kFloat);
  file.add_node("Add", {"input", "input"}, "output");
  file.add_output("output", OnnxFile::Type::kFloat);
  write_file(folder / "b.onnx", file.contents());
  expect_user_error(load(folder / "b.onnx"),
                    {"b.onnx: is no network of a Piper voice", "input_lengths"});
}

}  // namespace
}  // namespace predgen
