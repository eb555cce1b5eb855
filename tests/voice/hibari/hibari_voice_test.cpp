#include "voice/hibari/hibari_voice.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "core/setting.h"
#include "hear/onnx/onnx_runtime.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_graph.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

struct HibariVoiceTest : EspeakTest {
  HibariVoiceTest() {
    std::string vocabulary = "{\" \": 1";
    for (char c = 'a'; c <= 'z'; ++c) vocabulary += fmt::format(", \"{}\": {}", c, c - 'a' + 2);
    write_file(folder / "vocab.json", vocabulary + "}");
  }

  std::shared_ptr<const HibariNetwork> network(FakeGraph graph) const {
    return std::make_shared<const HibariNetwork>(
        std::make_unique<const FakeGraph>(std::move(graph)), HibariAlphabet(folder / "vocab.json"),
        HibariSettings());
  }

  TemporaryFolder folder;
};

TEST_F(HibariVoiceTest, SpeaksAmericanEnglishAtTwentyFourKilohertz) {
  const HibariVoice voice(network(fake_hibari_graph()), {});
  EXPECT_EQ(voice.sample_rate(), 24000);
  EXPECT_EQ(voice.language(), "en-us");
  EXPECT_THAT(voice.names(), testing::ElementsAre("hibari"));
  const auto synthesizer = voice.synthesizer("hibari");
  EXPECT_EQ(synthesizer->sample_rate(), 24000);
  EXPECT_EQ(synthesizer->language(), "en-us");
  EXPECT_GT(speak(*synthesizer, "Hello there.").size(), 12000U);
  expect_user_error([&] { voice.synthesizer("nobody"); }, {"'nobody'", "hibari"});
}

TEST_F(HibariVoiceTest, SpeaksAsFastAsAClientWantsWithinItsMeans) {
  double asked = 0;
  const FakeGraph graph = fake_hibari_graph();
  const auto recording = network(
      FakeGraph(graph.inputs(), graph.outputs(), [&](const std::vector<at::Tensor>& inputs) {
        asked = inputs[1].item<float>();
        return graph.compute(inputs);
      }));
  const HibariVoice voice(recording->at_speed(0.8), {});
  EXPECT_DOUBLE_EQ(voice.speeds().slowest, 0.625);
  EXPECT_DOUBLE_EQ(voice.speeds().fastest, 2.5);
  speak(*voice.synthesizer("hibari", 2), "Hello.");
  EXPECT_FLOAT_EQ(static_cast<float>(asked), 1.6F) << "of what is configured";
  speak(*voice.synthesizer(), "Hello.");
  EXPECT_FLOAT_EQ(static_cast<float>(asked), 0.8F) << "others speak as before";
}

TEST_F(HibariVoiceTest, ConversationsShareItAndSpeakAsIfAlone) {
  expect_to_speak_as_if_alone(HibariVoice(network(fake_hibari_graph()), {}));
}

TEST_F(HibariVoiceTest, ANetworkWithoutSoundIsFoundAtOnce) {
  const FakeGraph graph = fake_hibari_graph();
  for (const float value : {-40.0F, std::numeric_limits<float>::quiet_NaN()}) {
    const auto broken = network(FakeGraph(graph.inputs(), graph.outputs(),
                                          [&, value](const std::vector<at::Tensor>& inputs) {
                                            auto outputs = graph.compute(inputs);
                                            for (at::Tensor& output : outputs) output.fill_(value);
                                            return outputs;
                                          }));
    expect_user_error([&] { HibariVoice(broken, {}); }, {"no sound", "fetch"});
  }
}

TEST_F(HibariVoiceTest, MissingFilesAreNamed) {
  HibariOptions options;
  options.espeak_helper = "/no/helper";
  expect_user_error([&] { HibariVoice(network(fake_hibari_graph()), options); },
                    {"the Hibari voice", "/no/helper"});
  if (!OnnxRuntime::is_there()) GTEST_SKIP() << "there is no ONNX Runtime (PREDGEN_SPEECH=OFF)";
  expect_user_error([&] { HibariVoice(HibariOptions{.model = "/nowhere"}); }, {"/nowhere"});
}

TEST(HibariOptions, TheShippedFileHasTheDefaults) {
  ConfigReader reader = ConfigReader::load("configs/runtime/hibari.yaml");
  auto file = read_settings<HibariOptions>(reader);
  reader.finish();
  HibariOptions none;
  EXPECT_EQ(settings_yaml(settings_of(file)), settings_yaml(settings_of(none)));
}

}  // namespace
}  // namespace predgen
