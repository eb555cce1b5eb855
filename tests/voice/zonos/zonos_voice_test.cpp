#include "voice/zonos/zonos_voice.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>
#include <sndfile.h>

#include <functional>
#include <thread>

#include "core/error.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_zonos.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/speaker/load_speaker.h"
#include "voice/zonos/zonos_synthesizer.h"

namespace predgen {
namespace {

using testing::HasSubstr;

std::vector<float> speak_all(Synthesis& synthesis) {
  std::vector<float> samples;
  while (synthesis.advance(samples)) {
  }
  return samples;
}

/// Counts what tensors of this thread take.
class CountedBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) override {
    if (size > 0) count += size;
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t count = 0;
};

int64_t bytes_taken(const std::function<void()>& work) {
  const auto bytes = std::make_shared<CountedBytes>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
  work();
  return bytes->count;
}

struct ZonosVoiceTest : testing::Test {
  void SetUp() override {
    write_small_zonos(folder.path());
    options.model = folder.path();
    options.generation.sampling.seed = 7;
    options.generation.max_new_frames = 60;
  }
  std::string refusal() {
    try {
      ZonosVoice voice(options);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder;
  ZonosOptions options;
};

TEST_F(ZonosVoiceTest, ConversationsShareItsWeights) {
  const auto size = static_cast<int64_t>(std::filesystem::file_size(folder / "model.safetensors"));
  std::optional<ZonosVoice> voice;
  EXPECT_GE(bytes_taken([&] { voice.emplace(options); }), size);
  std::filesystem::remove_all(folder / "dac_44khz");  // and nothing is read again
  std::filesystem::remove(folder / "model.safetensors");
  std::vector<std::unique_ptr<SpeechSynthesizer>> conversations;
  EXPECT_EQ(bytes_taken([&] {
              for (int i = 0; i < 3; ++i) conversations.push_back(voice->synthesizer());
            }),
            0);
  const std::vector<float> first = speak_all(*conversations[0]->begin("Hello."));
  EXPECT_GT(first.size(), 1000u);
  EXPECT_EQ(speak_all(*conversations[1]->begin("Hello.")), first);
}

TEST_F(ZonosVoiceTest, ConversationsSpeakAtOnceWhatEachSpeaksAlone) {
  const ZonosVoice voice(options);
  const std::vector<std::string> sentences{"Hello, world.", "Something else is said here.",
                                           "And a third one!"};
  std::vector<std::vector<float>> alone;
  for (const std::string& sentence : sentences) {
    alone.push_back(speak_all(*ZonosSynthesizer(voice).begin(sentence)));
  }
  ASSERT_NE(alone[0], alone[1]);

  std::vector<std::unique_ptr<SpeechSynthesizer>> conversations;
  std::vector<std::unique_ptr<Synthesis>> turns;
  for (const std::string& sentence : sentences) {
    conversations.push_back(voice.synthesizer());
    turns.push_back(conversations.back()->begin(sentence));
  }
  std::vector<std::vector<float>> interleaved(sentences.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < turns.size(); ++i) more |= turns[i]->advance(interleaved[i]);
  }
  EXPECT_EQ(interleaved, alone);

  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::vector<float>> together(sentences.size());
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < sentences.size(); ++i) {
      threads.emplace_back(
          [&, i] { together[i] = speak_all(*voice.synthesizer()->begin(sentences[i])); });
    }
    threads.clear();
    EXPECT_EQ(together, alone);
  }
}

TEST_F(ZonosVoiceTest, ItsNameIsThatOfTheSpeakersFile) {
  const ZonosVoice voice(options);
  EXPECT_EQ(voice.names(), std::vector<std::string>{"zonos"});
  EXPECT_NE(voice.synthesizer("zonos"), nullptr);
  expect_user_error([&] { voice.synthesizer("me"); },
                    {"there is no voice 'me' here: choose one of zonos"});
  EXPECT_EQ(voice.language("zonos"), "en-us");
  EXPECT_EQ(voice.sample_rate(), 44100);
  options.voice = folder / "me.safetensors";
  save_speaker_embedding(options.voice, at::randn({128}));
  EXPECT_EQ(ZonosVoice(options).names(), std::vector<std::string>{"me"});
}

TEST_F(ZonosVoiceTest, DamagedWeightsAreRefusedAtOnce) {
  write_small_transformer(folder.path(), small_zonos_config(), [](auto& tensors) {
    tensors["backbone.layers.0.mlp.fc1.weight"][3][5].fill_(std::nan(""));
  });
  EXPECT_THAT(refusal(), HasSubstr("model.safetensors is damaged"));
  write_small_zonos(folder.path());
  const auto codec = folder / "dac_44khz";
  auto tensors = random_tensors(dac_weight_layout(DacConfig::load(codec)), 1);
  tensors["decoder.conv2.weight"].fill_(std::nan(""));
  write_safetensors(codec / "model.safetensors", tensors);
  EXPECT_THAT(refusal(), HasSubstr("dac_44khz: the codec gives samples that are not numbers"));
}

TEST_F(ZonosVoiceTest, OtherCodecsAreRefused) {
  const auto refused = [&](const std::function<void(DacConfig&)>& change) {
    DacConfig codec = DacConfig::load(folder / "dac_44khz");
    change(codec);
    options.codec = folder / "other";
    write_dac(options.codec, codec);
    EXPECT_THAT(refusal(), HasSubstr("use descript/dac_44khz"));
  };
  refused([](DacConfig& codec) { codec.codebook_size = 512; });
  refused([](DacConfig& codec) { codec.codebook_size = 2048; });
  refused([](DacConfig& codec) { codec.num_codebooks = 12; });
  refused([](DacConfig& codec) { codec.sample_rate = 16000; });
  refused([](DacConfig& codec) { codec.strides = {2, 4, 4, 8}; });
}

TEST_F(ZonosVoiceTest, BadOptionsAreNamed) {
  options.language = "en-uk";
  EXPECT_THAT(refusal(), HasSubstr("en-uk"));
  options.language = "en-us";
  options.codec = folder / "nowhere";
  EXPECT_THAT(refusal(), HasSubstr("nowhere"));
  options.codec.clear();
  options.voice = folder / "none.safetensors";
  EXPECT_THAT(refusal(), HasSubstr("none.safetensors"));
  options.voice = folder / "none.wav";
  EXPECT_THAT(refusal(), HasSubstr("none.wav"));
  options.voice.clear();
  options.audio_prefix = folder / "config.json";
  EXPECT_THAT(refusal(), HasSubstr("config.json"));
  options.audio_prefix.clear();
  options.emotion.assign(8, 0.0);
  EXPECT_THAT(refusal(), HasSubstr("emotion"));
  options.emotion[0] = 1;
  options.espeak_helper = folder / "no-helper";
  EXPECT_THAT(refusal(), HasSubstr("no-helper"));
  options.espeak_helper.clear();
  options.model = folder / "no-model";
  EXPECT_THAT(refusal(), HasSubstr("no-model"));
}

TEST_F(ZonosVoiceTest, LongAudioPrefixesAreRefused) {
  options.audio_prefix = folder / "prefix.wav";
  SF_INFO info{};
  info.samplerate = 8000;
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* file = sf_open(options.audio_prefix.c_str(), SFM_WRITE, &info);
  const std::vector<float> sound(30 * 8000 + 1);
  sf_write_float(file, sound.data(), static_cast<sf_count_t>(sound.size()));
  sf_close(file);
  EXPECT_THAT(refusal(), HasSubstr("prefix.wav: is longer than 30 seconds"));
}

}  // namespace
}  // namespace predgen
