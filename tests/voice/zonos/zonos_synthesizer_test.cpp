#include "voice/zonos/zonos_synthesizer.h"

#include <gmock/gmock.h>
#include <sndfile.h>

#include <cmath>

#include "core/error.h"
#include "tests/fakes/small_zonos.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/speaker/load_speaker.h"
#include "voice/zonos/phonemizer.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kHop = 512, kLookahead = 4757;  // samples of the codec

std::vector<float> speak(Synthesis& synthesis) {
  std::vector<float> samples;
  while (synthesis.advance(samples)) {
  }
  return samples;
}

int64_t samples_after(Synthesis& synthesis, int64_t steps) {
  std::vector<float> samples;
  for (int64_t i = 0; i < steps; ++i) EXPECT_TRUE(synthesis.advance(samples));
  return static_cast<int64_t>(samples.size());
}

struct ZonosSynthesizerTest : testing::Test {
  void SetUp() override {
    write_small_zonos(folder.path());
    options.model = folder.path();
    options.generation.sampling.seed = 7;
    options.generation.max_new_frames = 60;
  }

  TemporaryFolder folder;
  ZonosOptions options;
};

TEST_F(ZonosSynthesizerTest, SpeaksTheCodecsSoundOfTheModelsCodes) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  EXPECT_EQ(synthesizer.sample_rate(), 44100);
  const std::vector<float> spoken = speak(*synthesizer.begin("Hello, world."));

  Phonemizer phonemizer({});
  ZonosConditioning conditioning{
      .phoneme_ids = phonemizer.phoneme_ids("Hello, world.", "en-us"),
      .speaker = {},
      .emotion = std::array<float, 8>{0.3077f, 0.0256f, 0.0256f, 0.0256f, 0.0256f, 0.0256f, 0.2564f,
                                      0.3077f},
      .fmax = 22050.0f,
      .pitch_std = {},
      .speaking_rate = {},
      .language_id = 24};
  const auto model = ZonosModel::load(folder.path());
  CodeGeneration generation(*model, model->make_prefix(conditioning), options.generation);
  while (generation.step()) {
  }
  const at::Tensor codes = generation.codes();
  EXPECT_GE(std::get<0>(at::_unique(codes)).numel(), 20);
  const at::Tensor expected = DacDecoder(DacWeights(folder / "dac_44khz")).decode(codes);
  ASSERT_EQ(static_cast<int64_t>(spoken.size()), expected.numel());
  for (size_t i = 300; i + 700 < spoken.size(); ++i) {  // between the fades
    ASSERT_NEAR(spoken[i], expected[static_cast<int64_t>(i)].item<float>(), 1e-4) << i;
  }
}

TEST_F(ZonosSynthesizerTest, BeginsAndEndsInSilence) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  const std::vector<float> spoken = speak(*synthesizer.begin("Hello."));
  ASSERT_GT(spoken.size(), 1000u);
  EXPECT_EQ(spoken.front(), 0.0f);
  EXPECT_EQ(spoken.back(), 0.0f);
}

TEST_F(ZonosSynthesizerTest, GoesOnToTheBitAfterAPause) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  const std::vector<float> whole = speak(*synthesizer.begin("Hello, world."));
  for (const int64_t pause : {1, 17, 34, 45}) {
    const auto synthesis = synthesizer.begin("Hello, world.");
    std::vector<float> resumed;
    for (int64_t i = 0; i < pause; ++i) ASSERT_TRUE(synthesis->advance(resumed));
    speak(*synthesizer.begin("Something else is said in between."));
    while (synthesis->advance(resumed)) {
    }
    EXPECT_EQ(resumed, whole) << pause;
  }
}

TEST_F(ZonosSynthesizerTest, SentencesMayTakeTurns) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  const std::vector<float> first = speak(*synthesizer.begin("First.")),
                           second = speak(*synthesizer.begin("Second one."));
  const auto a = synthesizer.begin("First."), b = synthesizer.begin("Second one.");
  std::vector<float> of_a, of_b;
  for (bool more = true; more;) {
    const bool more_a = a->advance(of_a), more_b = b->advance(of_b);
    more = more_a || more_b;
  }
  EXPECT_EQ(of_a, first);
  EXPECT_EQ(of_b, second);
}

TEST_F(ZonosSynthesizerTest, AheadBufferIsOfExactSamples) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  EXPECT_EQ(samples_after(*synthesizer.begin("Hello, world."), 34),
            26 * kHop - kLookahead);  // 194 ms
  EXPECT_TRUE(voice.ahead_buffer().is_full(34, 0, 44100));
  EXPECT_FALSE(voice.ahead_buffer().is_full(33, 100'000, 44100));
}

TEST_F(ZonosSynthesizerTest, EdgePresetsSpeakUpToTheLastFrame) {
  for (const auto& [steps, frames] : {std::pair{17, 9}, std::pair{25, 17}}) {
    options.edge = true;
    options.ahead_steps = steps;
    const ZonosVoice voice(options);
    ZonosSynthesizer synthesizer(voice);
    const auto synthesis = synthesizer.begin("Hello, world.");
    EXPECT_EQ(samples_after(*synthesis, steps), frames * kHop);
    const auto rest = static_cast<int64_t>(speak(*synthesis).size());
    options.edge = false;
    const ZonosVoice exact_voice(options);
    ZonosSynthesizer exact(exact_voice);
    EXPECT_EQ(frames * kHop + rest,
              static_cast<int64_t>(speak(*exact.begin("Hello, world.")).size()));
  }
}

TEST_F(ZonosSynthesizerTest, LongSentencesAreSpokenInParts) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  std::string text;
  while (text.size() < 10'000) text.append("and then he said, ");
  const auto synthesis = synthesizer.begin(text);
  std::vector<float> samples;
  int64_t steps = 1;
  while (steps < 400 && synthesis->advance(samples)) ++steps;
  EXPECT_EQ(steps, 400);  // far from done, and not slower for its length
  EXPECT_GT(samples.size(), 3u * 60 * kHop);
  // Parts join in silence.
  size_t quiet = 0;
  for (size_t i = 1; i < samples.size(); ++i) quiet += samples[i - 1] == 0 && samples[i] == 0;
  EXPECT_GE(quiet, 3u);
}

TEST_F(ZonosSynthesizerTest, NothingToSayIsCompleteAtOnce) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  EXPECT_THAT(speak(*synthesizer.begin("")), IsEmpty());
  EXPECT_EQ(synthesizer.language(), options.language);
}

TEST_F(ZonosSynthesizerTest, WhatHasNoSoundIsLeftOut) {
  const ZonosVoice voice(options);
  ZonosSynthesizer synthesizer(voice);
  const std::string unknown = "\ua800";  // a letter that espeak-ng does not know
  EXPECT_THAT(speak(*synthesizer.begin(unknown)), IsEmpty());
  const std::vector<float> hello = speak(*synthesizer.begin("Hello!"));
  ASSERT_FALSE(hello.empty());
  std::string marks = "Hello! ";  // a part of a long sentence may be nothing but marks
  for (int i = 0; i < 200; ++i) marks += "-- ";
  EXPECT_EQ(speak(*synthesizer.begin(marks)).size(), hello.size());
}

TEST_F(ZonosSynthesizerTest, VoiceAndAudioPrefixChangeTheSound) {
  options.generation.sampling.temperature = 0;
  const std::vector<float> plain = speak(*ZonosSynthesizer(ZonosVoice(options)).begin("Hello."));
  options.voice = folder / "me.safetensors";
  save_speaker_embedding(options.voice, at::randn({128}));
  const std::vector<float> mine = speak(*ZonosSynthesizer(ZonosVoice(options)).begin("Hello."));
  EXPECT_NE(mine, plain);

  options.audio_prefix = folder / "prefix.wav";
  SF_INFO info{};
  info.samplerate = 22050;
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* file = sf_open(options.audio_prefix.c_str(), SFM_WRITE, &info);
  std::vector<float> tone(2205);
  for (size_t i = 0; i < tone.size(); ++i) tone[i] = std::sin(0.1f * static_cast<float>(i));
  sf_write_float(file, tone.data(), static_cast<sf_count_t>(tone.size()));
  sf_close(file);
  const std::vector<float> after = speak(*ZonosSynthesizer(ZonosVoice(options)).begin("Hello."));
  EXPECT_NE(after, mine);
  EXPECT_LE(after.size(), 60u * kHop);  // the prefix itself is not heard
}

TEST(ReadZonosOptions, EveryProblemIsAtItsOwnKey) {
  for (const char* line :
       {"emotion: [0, 0, 0, 0, 0, 0, 0, 0]", "emotion: [-1, 0, 0, 0, 0, 0, 0, 2]", "cfg_scale: -1",
        "max_new_frames: 0", "temperature: -1", "repetition_penalty: 0", "repetition_window: -1",
        "linear: -1", "confidence: 1", "quadratic: 1", "top_p: 2", "top_k: -1", "min_p: 2",
        "eos_penalty: -1", "quantize: int4"}) {
    ConfigReader reader = ConfigReader::parse(fmt::format("model: m\n{}\n", line), "voice.yaml");
    read_settings<ZonosOptions>(reader);
    const std::string_view key(line, std::string_view(line).find(':'));
    try {
      reader.finish();
      ADD_FAILURE() << line << " is accepted";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(fmt::format("voice.yaml:2: \"{}\"", key)));
    }
  }
}

TEST(ReadZonosOptions, NamesWhatDoesNotDo) {
  ConfigReader reader = ConfigReader::parse(
      "model: m\nemotion: [1, 2]\nunconditional: [pitch]\nmin_p: 7\nquantize: int3\nrate: 3\n",
      "voice.yaml");
  read_settings<ZonosOptions>(reader);
  try {
    reader.finish();
    FAIL() << "accepted";
  } catch (const UserError& error) {
    for (const char* part : {"eight", "'pitch'", "min_p", "int3", "rate"}) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }
}

}  // namespace
}  // namespace predgen
