// Codes to sound and text to sound on a device, beside a language model.
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <fmt/format.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "model/stream_priority.h"
#include "runtime/generate/generator.h"
#include "tests/cuda/on_device.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_zonos.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/dac/dac_codec.h"
#include "voice/zonos/zonos_synthesizer.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {
namespace {

class DacOnDevice : public OnDevice {
 protected:
  DacOnDevice() { write_dac(folder_.path(), small_dac_config()); }
  DacWeights weights(at::Device where) const { return DacWeights(folder_.path(), where); }

  const TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, DacOnDevice, devices(), device_name);

TEST_P(DacOnDevice, AStreamGivesTheSoundOfTheCpu) {
  const DacDecoder reference(weights(at::kCPU)), decoder(weights(device()));
  const at::Tensor codes = random_codes(decoder.config(), 100);
  const at::Tensor expected = reference.decode(codes);
  ASSERT_GT(expected.std().item<double>(), 0.05);
  EXPECT_LE(largest(decoder.decode(codes) - expected), 1e-4);
  for (const int64_t chunk : {1, 8, 40}) {
    DacStream stream(decoder);
    std::vector<at::Tensor> parts;
    for (int64_t first = 0; first < 100; first += chunk) {
      DacStream copy = stream;  // which hears something else
      copy.push(codes.narrow(1, 0, 3));
      parts.push_back(stream.push(codes.narrow(1, first, std::min(chunk, 100 - first))));
    }
    parts.push_back(stream.flush());
    const at::Tensor found = at::cat(parts);
    ASSERT_EQ(found.sizes(), expected.sizes());
    EXPECT_LE(largest(found - expected), 1e-4) << chunk;
  }
}

TEST_P(DacOnDevice, SoundHasTheCodesOfTheCpu) {
  // One whose codes are the same with an error that is larger than roundings.
  const DacEncoder reference(weights(at::kCPU));
  const at::Tensor error = normal({1, 20'000}, 99) * 1e-5;
  Waveform sound;
  at::Tensor expected;
  uint64_t seed = 0;
  do {
    ASSERT_LT(++seed, 20u) << "codes with a margin are rare";
    sound = {"noise.wav", 44100, normal({1, 20'000}, seed) * 0.1};
    expected = reference.encode(sound);
  } while (!at::equal(reference.encode({"noise.wav", 44100, sound.samples_CN + error}), expected));
  EXPECT_TRUE(at::equal(DacEncoder(weights(device())).encode(sound), expected));
  EXPECT_GT(std::get<0>(at::_unique(expected)).numel(), 10);
}

std::vector<float> speak(Synthesis& synthesis) {
  std::vector<float> samples;
  while (synthesis.advance(samples)) {
  }
  return samples;
}

/// A language model that answers over and over on a thread and a stream of its own, as in a
/// conversation, and looks whether its text stays the same.
class Answering {
 public:
  explicit Answering(at::Device device)
      : model_(Transformer::initialize(small_config(), 1, at::TensorOptions(device))),
        expected_(answer()),
        thread_([this](const std::stop_token& stop) {
          const c10::InferenceMode inference;
          const c10::StreamGuard stream(make_stream(model_->device(), StreamPriority::kHigh));
          do {
            num_wrong_ += answer() != expected_;
            ++num_answers_;
          } while (!stop.stop_requested());
        }) {}
  int64_t num_answers() const { return num_answers_; }
  /// Number of answers; those that differed are a failure.
  int64_t finish() {
    thread_.request_stop();
    thread_.join();
    EXPECT_EQ(num_wrong_, 0);
    return num_answers_;
  }

 private:
  TokenIds answer() const {
    Engine engine = borrowing_engine(*model_);  // of the thread that calls
    Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3, 4, 5}, 128);
    AutoregressiveGenerator(engine).generate(sequence, {},
                                             {.max_new_tokens = 40, .stop_tokens = {}}, {});
    return TokenIds(sequence.tokens().begin(), sequence.tokens().end());
  }
  std::unique_ptr<Transformer> model_;
  TokenIds expected_;
  std::atomic<int64_t> num_wrong_{0}, num_answers_{0};
  std::jthread thread_;
};

class SpeechOnDevice : public OnDevice {
 protected:
  SpeechOnDevice() { write_small_zonos(folder_.path()); }
  ZonosOptions options(const std::string& where, const std::string& dtype) const {
    ZonosOptions options;
    options.model = folder_.path();
    options.load = {where, dtype};
    options.generation.max_new_frames = 100;
    options.generation.sampling.eos_penalty = 100;
    return options;
  }

  const TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(, SpeechOnDevice, devices(), device_name);

constexpr size_t kFrames = 30;
constexpr const char* kSentence = "Hello, world.";

TEST_P(SpeechOnDevice, GreedySoundIsThatOfTheCpu) {
  ZonosOptions exact = options("cpu", "fp32"), found = options(GetParam(), "fp32");
  exact.generation.sampling.temperature = found.generation.sampling.temperature = 0;
  exact.generation.max_new_frames = found.generation.max_new_frames = static_cast<int64_t>(kFrames);
  // A sentence whose sound does not change with an error that is larger than roundings.
  const TemporaryFolder near;
  write_small_zonos(near.path(), 0.3 * kMargin);
  ZonosOptions other = exact;
  other.model = near.path();
  const ZonosVoice exact_voice(exact), other_voice(other);
  ZonosSynthesizer reference(exact_voice), perturbed(other_voice);
  std::string sentence;
  std::vector<float> expected;
  for (int i = 1; sentence.empty(); ++i) {
    ASSERT_LT(i, 20) << "codes with a margin are rare";
    const std::string tried = fmt::format("Hello, {} worlds.", i);
    expected = speak(*reference.begin(tried));
    if (speak(*perturbed.begin(tried)) == expected) sentence = tried;
  }
  const ZonosVoice voice(found);
  EXPECT_EQ(voice.model().device().type(), device().type());
  const std::vector<float> samples = speak(*ZonosSynthesizer(voice).begin(sentence));
  ASSERT_EQ(samples.size(), expected.size());
  ASSERT_EQ(samples.size(), kFrames * 512);
  double energy = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    ASSERT_NEAR(samples[i], expected[i], 1e-3) << i;
    energy += samples[i] * samples[i];
  }
  EXPECT_GT(energy / static_cast<double>(samples.size()), 1e-3);
}

TEST_P(SpeechOnDevice, ResumesToTheBitBesideALanguageModel) {
  for (const auto& [dtype, quantization] : {std::pair{"fp32", Quantization::kNone},
                                            {"bf16", Quantization::kNone},
                                            {"bf16", Quantization::kInt8}}) {
    SCOPED_TRACE(dtype);
    ZonosOptions speech = options(GetParam(), dtype);
    speech.load.quantization = quantization;
    const ZonosVoice weights(speech);
    ZonosSynthesizer voice(weights);
    const std::vector<float> whole = speak(*voice.begin(kSentence));
    ASSERT_EQ(whole.size(), 100u * 512);
    Answering answering(device());
    EXPECT_EQ(speak(*voice.begin(kSentence)), whole);
    for (const int64_t pause : {1, 34, 60}) {
      const auto synthesis = voice.begin(kSentence);
      std::vector<float> resumed;
      for (int64_t i = 0; i < pause; ++i) ASSERT_TRUE(synthesis->advance(resumed));
      speak(*voice.begin("Something else is said in between."));
      while (synthesis->advance(resumed)) {
      }
      EXPECT_EQ(resumed, whole) << pause;
    }
    EXPECT_GT(answering.finish(), 1);
  }
}

/// As a conversation has it: the voice is loaded, and its graphs made, while answers are generated.
TEST_P(SpeechOnDevice, IsLoadedBesideALanguageModel) {
  const std::vector<float> expected =
      speak(*ZonosSynthesizer(ZonosVoice(options(GetParam(), "fp32"))).begin(kSentence));
  Answering answering(device());
  while (answering.num_answers() == 0) std::this_thread::yield();
  const int64_t before = answering.num_answers();
  const ZonosVoice voice(options(GetParam(), "fp32"));
  EXPECT_EQ(speak(*ZonosSynthesizer(voice).begin(kSentence)), expected);
  EXPECT_GT(answering.finish(), before);
}

TEST_P(SpeechOnDevice, ConversationsSpeakAtOnceWhatEachSpeaksAlone) {
  const ZonosVoice voice(options(GetParam(), "fp32"));
  const std::vector<std::string> sentences{kSentence, "Something else is said here.", "A third!"};
  std::vector<std::vector<float>> alone, together(sentences.size());
  for (const std::string& sentence : sentences) {
    alone.push_back(speak(*voice.synthesizer()->begin(sentence)));
  }
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < sentences.size(); ++i) {
    threads.emplace_back(
        [&, i] { together[i] = speak(*voice.synthesizer()->begin(sentences[i])); });
  }
  threads.clear();
  EXPECT_EQ(together, alone);
}

}  // namespace
}  // namespace predgen
