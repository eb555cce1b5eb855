#include "voice/speaker/load_speaker.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_dac.h"
#include "tests/fakes/temporary_folder.h"
#include "voice/speaker/speaker_network.h"

namespace predgen {
namespace {

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
