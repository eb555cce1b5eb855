#include "voice/speaker/load_speaker.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_dac.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class SpeakerEncoderTest : public testing::Test {
 protected:
  SpeakerEncoderTest() { write(random_tensors(speaker_network_layout(sizes_), 1)); }
  void write(const std::map<std::string, at::Tensor>& tensors) {
    write_safetensors(network_, tensors);
    write_safetensors(projection_, projection_tensors_);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_user_error([&] { SpeakerEncoder(network_, projection_, sizes_); }, parts);
  }
  static Waveform noise(int64_t num_samples, uint64_t seed = 1) {
    at::manual_seed(seed);
    return {"noise.wav", 16000, at::randn({1, num_samples}) * 0.1};
  }

  TemporaryFolder folder_;
  const std::filesystem::path network_ = folder_ / "network.safetensors";
  const std::filesystem::path projection_ = folder_ / "projection.safetensors";
  const SpeakerNetworkSizes sizes_{4, {1, 2, 1, 1}, 8, 12};
  std::map<std::string, at::Tensor> projection_tensors_ =
      random_tensors({{"weight", {128, 12}}, {"bias", {128}}}, 2);
};

TEST_F(SpeakerEncoderTest, EmbedsAnySound) {
  const SpeakerEncoder encoder(network_, projection_, sizes_);
  const at::Tensor embedding = encoder.embed(noise(8000));
  EXPECT_EQ(embedding.sizes(), at::IntArrayRef{128});
  EXPECT_EQ(embedding.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::isfinite(embedding).all().item<bool>());
  EXPECT_TRUE(at::equal(embedding, encoder.embed(noise(8000))));
  EXPECT_GT((embedding - encoder.embed(noise(8000, 2))).abs().max().item<double>(), 1e-3);
  const at::Tensor twice = at::cat({noise(8000).samples_CN * 2, at::zeros({1, 8000})});
  EXPECT_TRUE(at::allclose(encoder.embed({"stereo", 16000, twice}), embedding, 1e-4, 1e-5));
  EXPECT_TRUE(at::isfinite(encoder.embed(noise(257))).all().item<bool>());
  const Waveform silence{"silence", 48000, at::zeros({2, 48000})};
  EXPECT_TRUE(at::isfinite(encoder.embed(silence)).all().item<bool>());
}

TEST_F(SpeakerEncoderTest, RefusesSound) {
  const SpeakerEncoder encoder(network_, projection_, sizes_);
  const auto refused = [&](const Waveform& waveform, const char* part) {
    expect_user_error([&] { encoder.embed(waveform); }, {"noise.wav", part});
  };
  refused(noise(256), "too short");
  refused({"noise.wav", 48000, at::zeros({1, 257})}, "86 samples at 16000 Hz");
  refused(noise(0), "no sound");
  refused({"noise.wav", 16000, noise(8000).samples_CN * 1e30}, "not finite");
  refused({"noise.wav", 16000, at::full({1, 1000}, kNan)}, "finite");
  refused({"noise.wav", 1000, at::zeros({1, 301'000})}, "300 seconds");
}

TEST_F(SpeakerEncoderTest, CountsOfTrainingDoNotMatter) {
  std::map<std::string, at::Tensor> tensors = random_tensors(speaker_network_layout(sizes_), 1);
  const at::Tensor expected = SpeakerEncoder(network_, projection_, sizes_).embed(noise(1000));
  tensors["front.bn1.num_batches_tracked"] = at::full({}, 3, at::kLong);
  write(tensors);
  EXPECT_TRUE(
      at::equal(SpeakerEncoder(network_, projection_, sizes_).embed(noise(1000)), expected));
}

TEST_F(SpeakerEncoderTest, RefusesFiles) {
  const std::map<std::string, at::Tensor> good = random_tensors(speaker_network_layout(sizes_), 1);
  const std::string name = "front.layer2.0.downsample.1.running_var";
  std::map<std::string, at::Tensor> tensors = good;
  tensors.erase(name);
  write(tensors);
  expect_refused({"network.safetensors", name, "missing"});
  tensors = good;
  tensors["front.layer1.1.conv1.weight"] = at::ones({4, 4, 3, 3});
  write(tensors);
  expect_refused({"network.safetensors", "front.layer1.1.conv1.weight", "no part"});
  tensors = good;
  tensors["bottleneck.weight"] = at::ones({12, 3});
  write(tensors);
  expect_refused({"bottleneck.weight", "[12, 3]", "[12, 640]"});
  projection_tensors_["weight"] = at::ones({128, 256});
  write(good);
  expect_refused({"projection.safetensors", "weight", "[128, 256]", "[128, 12]"});
  std::filesystem::remove(projection_);
  expect_refused({"projection.safetensors"});
  write_file(network_, "PK");
  expect_refused({"network.safetensors"});
}

TEST(SpeakerNetworkTest, PublishedSizes) {
  const std::vector<WeightSpec> layout = speaker_network_layout({});
  int64_t num_parameters = 0, num_norms = 0;
  for (const WeightSpec& weight : layout) {
    num_parameters += c10::multiply_integers(weight.shape);
    num_norms += weight.name.ends_with(".running_var");
  }
  EXPECT_EQ(static_cast<int64_t>(layout.size()) + num_norms, 1199);  // with the counts of training
  EXPECT_EQ(num_parameters / 1'000'000, 99);
}

TEST(SpeakerFeaturesTest, AreThoseOfTheReference) {
  const SafetensorsFile cases(kVoiceGolden / "cases.safetensors");
  const at::Tensor found = speaker_features(cases.tensor("mel_in_16k")[0].clone());
  EXPECT_LE((found - cases.tensor("mel_out")[0]).abs().max().item<double>(), 1e-5);
}

TEST(SpeakerEmbeddingTest, KeepsItsBits) {
  const TemporaryFolder folder;
  at::manual_seed(3);
  const at::Tensor embedding = at::randn({128});
  save_speaker_embedding(folder / "voice.safetensors", embedding);
  EXPECT_TRUE(at::equal(load_speaker_embedding(folder / "voice.safetensors"), embedding));
}

TEST(SpeakerEmbeddingTest, RefusesFiles) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::map<std::string, at::Tensor>& tensors,
                           const std::vector<std::string>& parts) {
    write_safetensors(folder / "voice.safetensors", tensors);
    std::vector<std::string> all{"voice.safetensors"};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_user_error([&] { load_speaker_embedding(folder / "voice.safetensors"); }, all);
  };
  const char* name = "speaker_embedding";
  refused({{name, at::zeros({127})}}, {"[127]", "[128]"});
  refused({{name, at::zeros({1, 128})}}, {"[1, 128]", "[128]"});
  refused({{name, at::zeros({128}, at::kInt)}}, {"Int"});
  refused({{"other", at::zeros({128})}}, {name, "missing"});
  refused({{name, at::zeros({128})}, {"other", at::zeros({1})}}, {"other", "no part"});
  refused({{name, at::full({128}, kNan)}}, {"finite"});
  expect_user_error([&] { load_speaker_embedding(folder / "none.safetensors"); },
                    {"none.safetensors"});
  write_file(folder / "voice.safetensors", "RIFF");
  expect_user_error([&] { load_speaker_embedding(folder / "voice.safetensors"); },
                    {"voice.safetensors"});
}

namespace fs = std::filesystem;

class LoadSpeaker : public testing::Test {
 protected:
  LoadSpeaker() { setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1); }
  ~LoadSpeaker() override { unsetenv("XDG_CACHE_HOME"); }

  /// `value` of the sample number.
  fs::path record(double seconds, const std::function<double(double)>& value) {
    fs::path file = folder_ / "me.wav";
    SF_INFO info{};
    info.samplerate = 16000;
    info.channels = 1;
    info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
    std::vector<float> samples(static_cast<size_t>(seconds * 16000));
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i] = static_cast<float>(value(static_cast<double>(i)));
    }
    SNDFILE* const opened = sf_open(file.c_str(), SFM_WRITE, &info);
    sf_write_float(opened, samples.data(), static_cast<sf_count_t>(samples.size()));
    sf_close(opened);
    return file;
  }
  static double tone(double i) { return 0.3 * std::sin(0.06 * i); }
  void write_network(const std::function<void(const fs::path&, std::vector<WeightSpec>)>& write) {
    write(folder_ / "ResNet293_SimAM_ASP_base.safetensors", speaker_network_layout({}));
    write(folder_ / "ResNet293_SimAM_ASP_base_LDA-128.safetensors",
          {{"weight", {128, 256}}, {"bias", {128}}});
  }

  TemporaryFolder folder_;
};

TEST_F(LoadSpeaker, RefusesRecordingsWithoutAVoice) {
  // Never read: the recording is looked at first.
  write_network([](const fs::path& file, const auto&) { write_file(file, "weights"); });
  const auto refused = [&](const fs::path& file, const char* part) {
    expect_user_error([&] { load_speaker(file, folder_.path()); }, {file.string(), part});
  };
  refused(record(2, [](double) { return 0.0; }), "silence");
  refused(record(2, [](double i) { return 0.001 * tone(i); }), "silence");
  refused(record(0.05, tone), "0.05 seconds");
  refused(record(0, tone), "no sound");
}

TEST_F(LoadSpeaker, ComputesOnceAndAgainIfWhatWasKeptIsDamaged) {
  write_network([](const fs::path& file, const std::vector<WeightSpec>& layout) {
    write_safetensors(file, random_tensors(layout, 1));
  });
  const fs::path file = record(1, tone);
  const at::Tensor first = load_speaker(file, folder_.path());
  const fs::path kept = fs::directory_iterator(folder_ / "cache/predgen/voices")->path();
  const auto written = fs::last_write_time(kept);
  EXPECT_TRUE(at::equal(load_speaker(file, folder_.path()), first));
  EXPECT_EQ(fs::last_write_time(kept), written);
  write_file(kept, "damaged");
  EXPECT_TRUE(at::equal(load_speaker(file, folder_.path()), first));
  EXPECT_GT(fs::file_size(kept), 500u);  // mended
}

}  // namespace
}  // namespace predgen
