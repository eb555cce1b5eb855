#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <thread>

#include "core/files.h"
#include "hear/onnx/onnx_runtime.h"
#include "tests/fakes/espeak_test.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_graph.h"
#include "tests/fakes/onnx_file.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/hibari/hibari_voice.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HibariPhonemes, DiphthongsAndAffricatesAreOneLetter) {
  EXPECT_EQ(hibari_phonemes("a\u026Am a\u028At e\u026A o\u028A \u0254\u026A"), "Im Wt A O Y");
  EXPECT_EQ(hibari_phonemes("d\u0292\u02C8\u028Cd\u0292 t\u0283\u02C8\u025C\u02D0t\u0283."),
            "\u02A4\u02C8\u028C\u02A4 \u02A7\u02C8\u025C\u0279\u02A7.");
}

TEST(HibariPhonemes, LengthsGo) {
  EXPECT_EQ(hibari_phonemes("m\u02C8u\u02D0vi\u02D0 f\u02C8o\u02D0\u0279"),
            "m\u02C8uvi f\u02C8\u0254\u0279");
}

TEST(HibariPhonemes, VowelsBeforeR) {
  EXPECT_EQ(
      hibari_phonemes("b\u02C8\u025C\u02D0\u0279d w\u02C8\u0254\u02D0t\u025A h\u02C8i\u0259\u0279"),
      "b\u02C8\u025C\u0279d w\u02C8\u0254t\u0259\u0279 h\u02C8\u026A\u0279");
  EXPECT_EQ(hibari_phonemes("s\u02C8\u025Bnt\u025A\u0279 \u028Cv"),
            "s\u02C8\u025Bnt\u0259\u0279 \u028Cv");
}

TEST(HibariPhonemes, FlapsWithinWordsOnly) {
  EXPECT_EQ(hibari_phonemes("s\u02C8\u026A\u027Ei \u026A\u027E \u02C8\u028Cp"),
            "s\u02C8\u026ATi \u026At \u02C8\u028Cp");
}

TEST(HibariPhonemes, SyllablesWithoutAVowel) {
  EXPECT_EQ(hibari_phonemes("l_\u02C8\u026A_\u027E_\u0259l b_\u02C8\u028C_\u0294_n\u0329"),
            "l\u02C8\u026AT\u1D4Al b\u02C8\u028Ct\u1D4An");
  EXPECT_EQ(hibari_phonemes("h_\u0259_l_\u02C8o\u028A"), "h\u0259l\u02C8O") << "that has one";
}

TEST(HibariPhonemes, TheArticleKeepsItsVowel) {
  EXPECT_EQ(hibari_phonemes("\u0250 b\u028Ak \u0250b\u02C8a\u028At \u0250"),
            "\u0250 b\u028Ak \u0259b\u02C8Wt \u0250");
}

TEST(HibariPhonemes, ThePronounHasAStressAndTheArticleItsOwnWord) {
  EXPECT_EQ(hibari_phonemes("a\u026A \u026An\u00F0\u0259 s\u028Cn"),
            "\u02CCI \u026An \u00F0\u0259 s\u028Cn");
}

TEST(HibariPhonemes, MarksAndBlanksStay) {
  EXPECT_EQ(hibari_phonemes("b, d? \u2014"), "b, d? \u2014");
  EXPECT_EQ(hibari_phonemes(""), "");
}

struct HibariAlphabetTest : testing::Test {
  HibariAlphabet alphabet(const std::string& vocabulary) const {
    write_file(folder / "vocab.json", vocabulary);
    return HibariAlphabet(folder / "vocab.json");
  }
  TemporaryFolder folder;
};

TEST_F(HibariAlphabetTest, IdsHaveAZeroAtBothEnds) {
  const HibariAlphabet letters = alphabet(R"({"a": 5, "\u0259": 7, " ": 16, ".": 4})");
  EXPECT_THAT(letters.ids("a \u0259."), ElementsAre(0, 5, 16, 7, 4, 0));
}

TEST_F(HibariAlphabetTest, UnknownCharactersAreLeftOut) {
  const HibariAlphabet letters = alphabet(R"({"a": 5})");
  EXPECT_THAT(letters.ids("xa\u0283a"), ElementsAre(0, 5, 5, 0));
  EXPECT_THAT(letters.ids("x\u0283"), IsEmpty());
  EXPECT_THAT(letters.ids(""), IsEmpty());
}

TEST_F(HibariAlphabetTest, FilesThatAreNoVocabularyAreUserErrors) {
  expect_user_error([] { HibariAlphabet("/nowhere/vocab.json"); }, {"/nowhere/vocab.json"});
  for (const char* wrong : {"[]", "{}", "5", R"({"ab": 1})", R"({"": 1})", R"({"a": "1"})",
                            R"({"a": 0})", R"({"a": 1.5})", R"({"a": -3})"}) {
    expect_user_error([&] { alphabet(wrong); }, {"vocab.json", "no vocabulary of Hibari"});
  }
  expect_user_error([&] { alphabet("{"); }, {"vocab.json"});
}

constexpr int64_t kSoundHop = 300, kWindow = 1200, kBins = 601;
constexpr double kVoiceRate = 24000, kPi = std::numbers::pi;

at::Tensor level(int64_t num_frames, double value) { return at::full({kBins, num_frames}, value); }

HibariFrames silent_frames(int64_t num_frames) {
  const at::Tensor none = level(num_frames, -40);
  return {none, level(num_frames, 0), none, none, level(num_frames, 0), at::zeros({num_frames})};
}

at::Tensor noise(int64_t num_frames, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::view_as_complex(at::randn({num_frames, kBins, 2}));
}

std::vector<float> sound_of(const HibariFrames& frames, const at::Tensor& noise_FB, int64_t step) {
  HibariSound sound(frames);
  std::vector<float> samples;
  for (int64_t at = 0; sound.frames_left() > 0; at += step) {
    sound.push(noise_FB.slice(0, at, at + std::min(step, sound.frames_left())), samples);
  }
  return samples;
}

double level_of(const std::vector<float>& samples, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += samples[i] * samples[i];
  return std::sqrt(sum / static_cast<double>(end - begin));
}

struct HibariSoundTest : testing::Test {
  c10::InferenceMode inference;
};

TEST_F(HibariSoundTest, HasThreeHundredSamplesAFrameHoweverItIsCut) {
  HibariFrames frames = silent_frames(50);
  frames.voice_BF = at::randn({kBins, 50}) - 1;
  frames.turn_BF = at::randn({kBins, 50});
  frames.noise_BF = at::randn({kBins, 50}) - 4;
  frames.rest_BF = at::randn({kBins, 50}) - 1;
  frames.phase_BF = at::randn({kBins, 50}) * 3;
  frames.pitch_F = at::linspace(30, 400, 50);
  const at::Tensor drawn = noise(50);
  const auto whole = sound_of(frames, drawn, 50);
  ASSERT_EQ(whole.size(), 50 * 300U);
  EXPECT_GT(level_of(whole, 6000, 12000), 1e-3);
  for (const int64_t step : {1, 7, 49}) {
    const auto pieces = sound_of(frames, drawn, step);
    ASSERT_EQ(pieces.size(), whole.size());
    float most = 0;
    for (size_t i = 0; i < whole.size(); ++i) most = std::max(most, std::abs(pieces[i] - whole[i]));
    EXPECT_LT(most, 1e-6) << step;
  }
}

TEST_F(HibariSoundTest, SamplesComeAsSoonAsTheyAreCertain) {
  HibariSound sound(silent_frames(8));
  std::vector<float> samples;
  sound.push(noise(2), samples);
  EXPECT_EQ(samples.size(), 0U);
  sound.push(noise(4), samples);
  EXPECT_EQ(samples.size(), 4 * 300U);
  EXPECT_EQ(sound.frames_left(), 2);
  sound.push(noise(2), samples);
  EXPECT_EQ(samples.size(), 8 * 300U);
  EXPECT_ANY_THROW(sound.push(noise(1), samples));
}

/// The transform, its windows and its scale.
TEST_F(HibariSoundTest, ARestOfOneFrequencyIsACosine) {
  constexpr int64_t kFrames = 40, kBin = 50;  // 1 kHz
  HibariFrames frames = silent_frames(kFrames);
  frames.rest_BF[kBin].fill_(std::log(100.0));
  // From frame to frame the phase goes on as the cosine does.
  frames.phase_BF[kBin].copy_(at::arange(kFrames, at::kFloat) *
                              (2 * kPi * kBin * kSoundHop / kWindow));
  const auto samples = sound_of(frames, noise(kFrames) * 0, kFrames);
  // Windows of Hann, a quarter apart, add up to 2, their squares to 3/2.
  const double amplitude = 2 * 100.0 / kWindow * 2 / 1.5;
  for (size_t i = 1200; i < samples.size() - 1200; ++i) {
    const double angle = 2 * kPi * kBin * (static_cast<double>(i) + 600) / kWindow;
    ASSERT_NEAR(samples[i], amplitude * std::cos(angle), 1e-4) << i;
  }
}

TEST_F(HibariSoundTest, ThePitchIsHeardAndSilenceIsNot) {
  constexpr int64_t kFrames = 60;
  HibariFrames frames = silent_frames(kFrames);
  frames.voice_BF.fill_(std::log(3.0));
  frames.pitch_F.fill_(200);
  frames.pitch_F.slice(0, 40).fill_(0);
  const auto samples = sound_of(frames, noise(kFrames) * 0, kFrames);
  constexpr size_t kPeriod = 120;  // of 200 Hz
  for (size_t i = 3000; i < 9000; ++i) ASSERT_NEAR(samples[i], samples[i + kPeriod], 2e-3) << i;
  EXPECT_GT(level_of(samples, 3000, 9000), 0.02);
  EXPECT_LT(level_of(samples, 14000, 18000), 1e-6);
}

TEST_F(HibariSoundTest, NoiseHasTheMagnitudeThatTheFramesSay) {
  constexpr int64_t kFrames = 200;
  HibariFrames frames = silent_frames(kFrames);
  frames.noise_BF.fill_(std::log(0.5));
  const auto quiet = sound_of(frames, noise(kFrames), 40);
  frames.noise_BF.fill_(std::log(1.0));
  const auto loud = sound_of(frames, noise(kFrames), 40);
  const double ratio = level_of(loud, 3000, 57000) / level_of(quiet, 3000, 57000);
  EXPECT_NEAR(ratio, 2, 1e-3);
  EXPECT_NE(sound_of(frames, noise(kFrames, 2), 40), loud);
}

TEST_F(HibariSoundTest, NoSampleIsLouderThanOne) {
  HibariFrames frames = silent_frames(20);
  frames.noise_BF.fill_(100);
  const auto samples = sound_of(frames, noise(20), 20);
  EXPECT_EQ(std::ranges::max(samples), 1);
  EXPECT_EQ(std::ranges::min(samples), -1);
}

/// Against the sum of cosines that it is.
TEST(HibariPulses, AreTheCosinesOfAllMultiplesBelowElevenKilohertz) {
  const at::Tensor pitch = at::tensor({100.0F, 100.0F, 150.0F, 150.0F, 0.0F, 0.0F});
  const at::Tensor pulses = hibari_pulses(pitch);
  ASSERT_EQ(pulses.numel(), 6 * kSoundHop);
  double cycles = 0;
  for (int64_t i = 0; i < 3 * kSoundHop + kSoundHop / 2; ++i) {
    // Lines between the middles of the frames, where the pitch is as given.
    const double place = (static_cast<double>(i) + 0.5) / kSoundHop - 0.5;
    const double from = std::clamp(std::floor(place), 0.0, 5.0), to = std::min(from + 1, 5.0);
    const double share = std::clamp(place - from, 0.0, 1.0);
    const auto at = [&](double frame) { return pitch[static_cast<int64_t>(frame)].item<double>(); };
    const double hertz = at(from) * (1 - share) + at(to) * share;
    cycles += hertz / kVoiceRate;
    if (i % 11 != 0) continue;
    double sum = 0;
    for (int k = 1; k <= static_cast<int>(11000 / hertz); ++k)
      sum += std::cos(2 * kPi * k * cycles);
    ASSERT_NEAR(pulses[i].item<double>(), sum, 0.05 + 1e-3 * std::abs(sum)) << i;
  }
  EXPECT_EQ(pulses.slice(0, 5 * kSoundHop).abs().max().item<double>(), 0);
}

TEST(HibariPulses, KeepTheirPhaseAcrossLongPieces) {
  const at::Tensor pulses = hibari_pulses(at::full({400}, 200.0F));
  for (int64_t i = 0; i < pulses.numel() - 120; i += 997) {
    ASSERT_NEAR(pulses[i].item<double>(), pulses[i + 120].item<double>(), 0.05) << i;
  }
}

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
