#include "voice/make_voice.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "hear/onnx/onnx_runtime.h"
#include "tests/fakes/environment_variable.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

struct ModelsFolder {
  TemporaryFolder folder;
  EnvironmentVariable variable{"PREDGEN_MODELS", folder.path().c_str()};
};

using MakeVoiceTest = EspeakTest;

TEST(MakeVoice, EveryKindHasAName) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : voice_kinds()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("none", "hibari", "piper", "espeak", "zonos"));
  EXPECT_EQ(make_voice({}), nullptr);
}

TEST_F(MakeVoiceTest, TheDefaultIsTheBestThatIsInstalled) {
  const ModelsFolder models;
  EXPECT_EQ(default_voice_kind(), VoiceKind::kEspeak);
  make_folder(models.folder / "hibari");
  EXPECT_EQ(default_voice_kind(), VoiceKind::kEspeak) << "an empty folder is no voice";
  write_file(models.folder / "hibari/hibari.onnx", "");
  EXPECT_EQ(default_voice_kind(),
            OnnxRuntime::is_there() ? VoiceKind::kHibari : VoiceKind::kEspeak);
}

TEST(MakeVoice, AVoiceThatIsNotInstalledSaysHowItIsHad) {
  if (!OnnxRuntime::is_there()) GTEST_SKIP() << "there is no ONNX Runtime (PREDGEN_SPEECH=OFF)";
  const ModelsFolder models;
  VoiceOptions options;
  options.kind = VoiceKind::kHibari;
  expect_user_error([&] { make_voice(options); }, {"hibari", "predgen models get hibari"});
  options.kind = VoiceKind::kPiper;
  expect_user_error([&] { make_voice(options); }, {"no such folder"});
}

TEST(MakeVoice, ABuildWithoutOnnxRuntimeSaysSo) {
  if (OnnxRuntime::is_there()) GTEST_SKIP() << "there is ONNX Runtime (PREDGEN_SPEECH=ON)";
  VoiceOptions options;
  for (const VoiceKind kind : {VoiceKind::kHibari, VoiceKind::kPiper}) {
    options.kind = kind;
    expect_user_error([&] { make_voice(options); }, {"ONNX Runtime", "--tts espeak"});
  }
}

}  // namespace
}  // namespace predgen
