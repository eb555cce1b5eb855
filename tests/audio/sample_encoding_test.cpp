#include "audio/sample_encoding.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr int kLowest = std::numeric_limits<int16_t>::min();
constexpr int kHighest = std::numeric_limits<int16_t>::max();

/// libsndfile's reader or writer of such bytes.
SNDFILE* open_raw(const std::filesystem::path& file, int law, int mode) {
  SF_INFO info{};
  info.samplerate = 8000;
  info.channels = 1;
  info.format = SF_FORMAT_RAW | law;
  SNDFILE* const opened = sf_open(file.c_str(), mode, &info);
  EXPECT_NE(opened, nullptr) << sf_strerror(nullptr);
  return opened;
}

struct Law {
  int format;
  uint8_t (*to)(int16_t);
  int16_t (*from)(uint8_t);
};

TEST(G711, IsThatOfLibsndfile) {
  const TemporaryFolder folder;
  for (const Law law :
       {Law{SF_FORMAT_ULAW, to_ulaw, from_ulaw}, Law{SF_FORMAT_ALAW, to_alaw, from_alaw}}) {
    std::vector<int16_t> samples;
    for (int value = kLowest; value <= kHighest; ++value) {
      samples.push_back(static_cast<int16_t>(value));
    }
    const std::filesystem::path file = folder.path() / "law.raw";
    SNDFILE* const out = open_raw(file, law.format, SFM_WRITE);
    sf_write_short(out, samples.data(), std::ssize(samples));
    sf_close(out);
    SNDFILE* const in = open_raw(file, law.format, SFM_READ);
    std::vector<int16_t> back(samples.size());
    ASSERT_EQ(sf_read_short(in, back.data(), std::ssize(back)), std::ssize(back));
    sf_close(in);
    // Between two codes, which of them is taken is a matter of rounding.
    constexpr int kResolution = 8;
    for (size_t i = 0; i < samples.size(); ++i) {
      const int own = std::abs(law.from(law.to(samples[i])) - samples[i]);
      ASSERT_LE(own, std::abs(back[i] - samples[i]) + kResolution) << samples[i];
    }
  }
}

TEST(G711, ABytesSampleIsThatByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto code = static_cast<uint8_t>(byte);
    EXPECT_EQ(from_ulaw(to_ulaw(from_ulaw(code))), from_ulaw(code));  // there are two zeros
    EXPECT_EQ(to_alaw(from_alaw(code)), code);
  }
}

}  // namespace
}  // namespace predgen
