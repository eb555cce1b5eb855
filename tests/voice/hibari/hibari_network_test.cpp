#include "voice/hibari/hibari_network.h"

#include <gmock/gmock.h>

#include <thread>

#include "core/files.h"
#include "hear/onnx/onnx_runtime.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_graph.h"
#include "tests/fakes/onnx_file.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr const char* kVocabulary = R"({"a": 5, "b": 6, "A": 7, ".": 4, " ": 16})";

struct HibariNetworkTest : testing::Test {
  HibariNetworkTest() { write_file(folder / "vocab.json", kVocabulary); }

  HibariNetwork network(FakeGraph graph, const HibariSettings& settings = {}) const {
    return HibariNetwork(std::make_unique<const FakeGraph>(std::move(graph)),
                         HibariAlphabet(folder / "vocab.json"), settings);
  }

  TemporaryFolder folder;
};

TEST_F(HibariNetworkTest, SaysPhonemesInStepsOfAThirdOfASecond) {
  const HibariNetwork voice = network(fake_hibari_graph());
  EXPECT_EQ(voice.sample_rate(), 24000);
  const auto piece = voice.speak("ab ab ab ab.");
  std::vector<float> samples;
  std::vector<size_t> sizes;
  for (bool more = true; more; sizes.push_back(samples.size())) more = piece->advance(samples);
  const size_t num_frames = 6 * 14;  // with the two zeros
  EXPECT_EQ(samples.size(), 300 * num_frames);
  EXPECT_THAT(sizes, testing::ElementsAre(300 * 25, 300 * 52, 300 * 79, 300 * 84));
}

TEST_F(HibariNetworkTest, GivesTheIdsOfItsLettersAndTheSpeed) {
  std::vector<at::Tensor> given;
  const FakeGraph graph = fake_hibari_graph();
  const HibariNetwork voice = network(FakeGraph(graph.inputs(), graph.outputs(),
                                                [&](const std::vector<at::Tensor>& inputs) {
                                                  given = inputs;
                                                  return graph.compute(inputs);
                                                }),
                                      {.speed = 1.25});
  rest_of(*voice.speak("be\u026Ab!"));
  ASSERT_EQ(given.size(), 2U);
  EXPECT_TRUE(at::equal(given[0], at::tensor({0, 6, 7, 6, 0}, at::kLong).unsqueeze(0)));
  EXPECT_TRUE(at::equal(given[1], at::tensor({1.25F})));
}

TEST_F(HibariNetworkTest, KnowsNothingOfPhonemesWithoutAnId) {
  const HibariNetwork voice = network(fake_hibari_graph());
  EXPECT_EQ(voice.speak("\u0283\u0292"), nullptr);
  EXPECT_EQ(voice.speak(""), nullptr);
}

TEST_F(HibariNetworkTest, ThreadsThatShareItGetTheSoundOfEachAlone) {
  const HibariNetwork voice = network(fake_hibari_graph());
  const std::vector<std::string> texts{"ab a.", "ba ab ba ab."};
  std::vector<std::vector<float>> alone, together(4);
  for (const std::string& text : texts) alone.push_back(rest_of(*voice.speak(text)));
  EXPECT_NE(alone[0], alone[1]);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < together.size(); i += 2) {
      threads.emplace_back([&, i] {  // two in turn, on each of two threads
        const auto one = voice.speak(texts[0]), two = voice.speak(texts[1]);
        bool first = true, second = true;
        while (first || second) {
          if (first) first = one->advance(together[i]);
          if (second) second = two->advance(together[i + 1]);
        }
      });
    }
  }
  for (size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], alone[i % 2]) << i;
}

TEST_F(HibariNetworkTest, AnotherSeedIsAnotherNoise) {
  const HibariNetwork one = network(fake_hibari_graph());
  const HibariNetwork other = network(fake_hibari_graph(), {.seed = 1});
  EXPECT_EQ(rest_of(*one.speak("ab.")), rest_of(*one.speak("ab.")));
  EXPECT_NE(rest_of(*one.speak("ab.")), rest_of(*other.speak("ab.")));
}

TEST_F(HibariNetworkTest, OtherNetworksAndShapesAreRefused) {
  const FakeGraph graph = fake_hibari_graph();
  const auto run = [](const std::vector<at::Tensor>&) { return std::vector<at::Tensor>(); };
  expect_user_error([&] { network(FakeGraph({"input"}, graph.outputs(), run)); },
                    {"fake.onnx: is no network of Hibari", "'ids'"});
  expect_user_error(
      [&] {
        network(FakeGraph(graph.inputs(), {"lh", "output"}, run));
      },
      {"fake.onnx", "'theta'"});
  const HibariNetwork wrong = network(
      FakeGraph(graph.inputs(), graph.outputs(), [&](const std::vector<at::Tensor>& inputs) {
        auto outputs = graph.compute(inputs);
        outputs[2] = outputs[2].slice(1, 0, 600);
        return outputs;
      }));
  EXPECT_THROW(rest_of(*wrong.speak("ab.")), Error);
}

TEST_F(HibariNetworkTest, FoldersThatLackSomethingAreUserErrors) {
  if (!OnnxRuntime::is_there()) GTEST_SKIP() << "there is no ONNX Runtime (PREDGEN_SPEECH=OFF)";
  const auto load = [&] { HibariNetwork::load(folder.path(), {}); };
  expect_user_error(load, {"hibari.onnx: no such file"});
  write_file(folder / "hibari.onnx", "no network");
  expect_user_error(load, {"hibari.onnx", "fetch it again"});
  OnnxFile file;
  file.add_input("ids", OnnxFile::Type::kFloat);
  file.add_node("Add", {"ids", "ids"}, "lh");
  file.add_output("lh", OnnxFile::Type::kFloat);
  write_file(folder / "hibari.onnx", file.contents());
  expect_user_error(load, {"hibari.onnx: is no network of Hibari", "'speed'"});
  std::filesystem::remove(folder / "vocab.json");
  expect_user_error(load, {"vocab.json"});
}

}  // namespace
}  // namespace predgen
