#include "core/model_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "tests/fakes/environment_variable.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

class ModelNames : public testing::Test {
 protected:
  fs::path add(const std::string& file) {
    write_file(folder_ / file, "x");
    return folder_ / file;
  }
  fs::path find(const fs::path& asked) const { return find_model(asked, folder_.path()); }
  void expect_missing(const fs::path& asked, const std::vector<std::string>& parts) const {
    expect_user_error([&] { find(asked); }, parts);
  }

  TemporaryFolder folder_;
};

TEST(ModelsFolder, IsTheUsersOwnOrInTheCache) {
  const EnvironmentVariable models("PREDGEN_MODELS", "/some/models"),
      cache("XDG_CACHE_HOME", "/cache"), home("HOME", "/home/me");
  EXPECT_EQ(models_folder(), "/some/models");
  const EnvironmentVariable no_models("PREDGEN_MODELS", "");
  EXPECT_EQ(models_folder(), "/cache/predgen/models");
  const EnvironmentVariable no_cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(models_folder(), "/home/me/.cache/predgen/models");
  const EnvironmentVariable no_home("HOME", nullptr);
  EXPECT_EQ(models_folder(), "");
}

TEST_F(ModelNames, APathIsTakenAsItIs) {
  const fs::path file = add("tiny.gguf");
  EXPECT_EQ(find(file), file);
  EXPECT_EQ(find(folder_.path()), folder_.path());
  EXPECT_EQ(find("."), ".");
}

TEST_F(ModelNames, ANameIsLookedUpInTheFolder) {
  const fs::path file = add("tiny.gguf");
  EXPECT_EQ(find("tiny"), file);
  EXPECT_EQ(find("tiny.gguf"), file);
  make_folder(folder_ / "tiny");
  EXPECT_EQ(find("tiny"), folder_ / "tiny");
  EXPECT_EQ(find("tiny.gguf"), file);
  expect_missing("sub/tiny", {"sub/tiny"});
}

TEST_F(ModelNames, ABegunFetchIsNoModel) {
  const fs::path part = add(".joined-qwen-coder-1.5b.gguf");
  add(".joined-other.gguf");
  EXPECT_TRUE(models_in(folder_.path()).empty());
  const std::vector<NamedModel> begun = begun_models_in(folder_.path());
  ASSERT_EQ(begun.size(), 1);
  EXPECT_EQ(begun[0].name, "qwen-coder-1.5b");
  EXPECT_EQ(begun[0].path, part);
  expect_missing("qwen-coder-1.5b", {"predgen models get qwen-coder-1.5b"});
}

TEST_F(ModelNames, AMissingNameIsAnsweredWithWhatIsThere) {
  expect_missing("smollm2", {"smollm2: ", "predgen models get smollm2"});
  expect_missing("smollm2.gguf", {"predgen models get smollm2 "});
  expect_missing("smollm", {"smollm: ", "did you mean \"smollm2\"?"});
  add("tiny.gguf");
  expect_missing("tinny", {"did you mean \"tiny\"?"});
  expect_missing("something-else", {"qwen-coder-1.5b, tiny", folder_.path().string()});
  expect_missing(std::string(200, 'x'), {"xxx"});
  expect_missing(std::string(5000, 'x'), {"xxx..", "name too long"});
  expect_user_error([] { find_model("tinny", {}); }, {"tinny", "PREDGEN_MODELS"});
  for (int i = 0; i < 200; ++i) add("a-model-with-a-name-" + std::to_string(i) + ".gguf");
  try {
    find("something-else");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_LT(std::string(error.what()).size(), 500);
  }
}

TEST_F(ModelNames, NamesOfTheHubSayHowAModelIsHad) {
  const std::string command = " download Qwen/Qwen2.5-7B-Instruct --local-dir " +
                              (folder_ / "Qwen2.5-7B-Instruct").string();
  for (const char* asked : {"Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct/",
                            "https://huggingface.co/Qwen/Qwen2.5-7B-Instruct"}) {
    expect_missing(asked, {asked, command, "GGUF"});
  }
  for (const fs::path& path : {folder_ / "absent", fs::path("runs/x/y"), fs::path("../x/y"),
                               fs::path("tests/absent"), fs::path("/absent"), fs::path("")}) {
    try {
      find(path);
      ADD_FAILURE() << path;
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), path.string() + ": no such model folder or GGUF file");
    }
  }
}

TEST_F(ModelNames, AMissingFileIsAnsweredWithItsNeighbours) {
  expect_missing(folder_ / "tiny-Q4.gguf", {"tiny-Q4.gguf: no such GGUF file"});
  add("tiny-Q8.gguf");
  expect_missing(folder_ / "tiny-Q4.gguf", {"did you mean \"tiny-Q8.gguf\"?"});
  expect_missing("Qwen/tiny.gguf", {"Qwen/tiny.gguf: no such GGUF file"});
}

TEST_F(ModelNames, TheFolderIsListed) {
  EXPECT_TRUE(models_in(folder_ / "absent").empty());
  for (const char* file : {"b.gguf", "notes.txt", ".hidden.gguf", "d-00001-of-00002.gguf",
                           "d-00002-of-00002.gguf", "c.gguf", "e-1-of-2.gguf"}) {
    add(file);
  }
  for (const char* folder : {"a", "c", ".fetch-x"}) make_folder(folder_ / folder);
  const std::vector<NamedModel> models = models_in(folder_.path());
  std::vector<std::string> names;
  for (const NamedModel& model : models) {
    names.push_back(model.name);
    EXPECT_EQ(find(model.name), model.path);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"a", "b", "c", "c.gguf", "d-00001-of-00002", "e-1-of-2"}));
}

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
