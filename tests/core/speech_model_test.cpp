#include "core/speech_model.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

Json entry(const std::string& content) {
  return {{"bytes", content.size()}, {"sha256", sha256_hex(content)}};
}

/// A folder of models, with a voice in it as scripts/fetch_model.py makes one.
class SpeechModels : public testing::Test {
 protected:
  SpeechModels() {
    make_folder(voice_);
    write_file(voice_ / "voice.onnx", "sound");
    write_file(voice_ / "vocab.json", "{}");
    describe({{"kind", "voice"},
              {"title", "A voice"},
              {"licence", "MIT"},
              {"files", {{"voice.onnx", entry("sound")}, {"vocab.json", entry("{}")}}}});
  }
  void describe(const Json& json) const { write_file(voice_ / "speech_model.json", json.dump()); }
  void expect_fault(const std::vector<std::string>& parts) const {
    expect_user_error([&] { speech_model("hibari", models_.path()); }, parts);
  }

  TemporaryFolder models_;
  const fs::path voice_ = models_ / "hibari";
};

TEST_F(SpeechModels, AreFoundByTheirNames) {
  EXPECT_EQ(speech_model("hibari", models_.path()), voice_);
  const SpeechModel model = read_speech_model(voice_);
  EXPECT_EQ(model.kind, "voice");
  EXPECT_EQ(model.title, "A voice");
  EXPECT_EQ(model.licence, "MIT");
  EXPECT_EQ(model.files.size(), 2u);
  EXPECT_EQ(model.num_bytes(), 7);
  check_hashes(model);
}

TEST_F(SpeechModels, AMissingOneIsAnsweredWithTheCommandThatFetchesIt) {
  const auto find = [&](const std::string& name) { speech_model(name, models_.path()); };
  expect_user_error([&] { find("whisper-base"); }, {"whisper-base: ", models_.path().string(),
                                                    "predgen models get whisper-base fetches it"});
  expect_user_error([&] { find("whisper-bse"); }, {"did you mean \"whisper-base\"?"});
  expect_user_error([&] { find("smollm2"); }, {"smollm2: no model of this name hears or speaks"});
  expect_user_error([&] { find("../hibari"); }, {"../hibari: no model of this name"});
  expect_user_error([&] { find(""); }, {"no model of this name"});
  expect_user_error([&] { find(std::string(5000, 'x')); }, {"xxx..: no model"});
  expect_user_error([] { speech_model("silero", {}); }, {"silero", "PREDGEN_MODELS"});
  fs::remove(voice_ / "speech_model.json");
  expect_fault({"hibari: no such model", "predgen models get hibari"});
}

TEST_F(SpeechModels, WhatIsNotWholeIsNamed) {
  write_file(voice_ / "voice.onnx", "soun");
  expect_fault({(voice_ / "voice.onnx").string() + ": has 4 bytes instead of 5; ",
                "predgen models get hibari --overwrite fetches it again"});
  fs::remove(voice_ / "voice.onnx");
  expect_fault({(voice_ / "voice.onnx").string() + ": ", "hibari --overwrite fetches it again"});
}

TEST_F(SpeechModels, OtherContentIsSeenWhereHashesAreAsked) {
  write_file(voice_ / "voice.onnx", "noise");
  const SpeechModel model = read_speech_model(voice_);
  expect_user_error([&] { check_hashes(model); },
                    {(voice_ / "voice.onnx").string() + ": holds something else",
                     "predgen models get hibari --overwrite fetches it again"});
}

TEST_F(SpeechModels, ABrokenDescriptionIsOneLine) {
  const std::string where = (voice_ / "speech_model.json").string();
  for (const char* text : {"", "[]", "{\"kind\": 1}", "{\"kind\": \"voice\", \"title\": \"\"}"}) {
    write_file(voice_ / "speech_model.json", text);
    expect_fault({where});
  }
  const auto describe_file = [&](const std::string& name, const Json& file) {
    describe({{"kind", "voice"}, {"title", ""}, {"licence", ""}, {"files", {{name, file}}}});
  };
  describe_file("../voice.onnx", entry("sound"));
  expect_fault({where, "\"../voice.onnx\" is no name of a file"});
  describe_file("voice.onnx", {{"bytes", "many"}, {"sha256", ""}});
  expect_fault({where, "bytes"});
}

TEST_F(SpeechModels, AreListedAndAreNoLanguageModels) {
  make_folder(models_ / "own");
  make_folder(models_ / ".fetch-x");
  write_file(models_ / ".fetch-x" / "speech_model.json", "{}");
  const std::vector<NamedModel> found = speech_models_in(models_.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "hibari");
  EXPECT_EQ(found[0].path, voice_);
  EXPECT_TRUE(speech_models_in(models_ / "absent").empty());

  const std::vector<NamedModel> language = models_in(models_.path());
  ASSERT_EQ(language.size(), 1u);
  EXPECT_EQ(language[0].name, "own");
  for (const fs::path& asked : {fs::path("hibari"), voice_, fs::path("silero")}) {
    expect_user_error([&] { find_model(asked, models_.path()); },
                      {asked.string() + ": is no language model, it hears or speaks"});
  }
  make_folder(models_ / "joe");  // a language model of one's own
  EXPECT_EQ(find_model("joe", models_.path()), models_ / "joe");
}

}  // namespace
}  // namespace predgen
