#include "serve/realtime/line_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "audio/sample_encoding.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

using Encoding = LineFormat::Encoding;

/// A tone of a second.
std::vector<int16_t> tone(int rate) {
  std::vector<int16_t> samples(static_cast<size_t>(rate));
  for (size_t i = 0; i < samples.size(); ++i) {
    const double turns = 440 * static_cast<double>(i) / rate;
    samples[i] = static_cast<int16_t>(std::lrint(9000 * std::sin(2 * std::numbers::pi * turns)));
  }
  return samples;
}

double error_of(std::span<const float> samples) {
  const std::vector<float> wanted = from_pcm16(bytes_of(tone(kRealtimeRate)));
  const size_t count = std::min(samples.size(), wanted.size());
  double most = 0;
  for (size_t i = 1000; i + 1000 < count; ++i) {
    most = std::max(most, static_cast<double>(std::abs(samples[i] - wanted[i])));
  }
  return most;
}

TEST(LineFormat, HalfASampleWaitsForTheNextChunk) {
  const std::vector<int16_t> sound = tone(kRealtimeRate);
  const std::string_view bytes = bytes_of(sound);
  LineDecoder decoder{LineFormat()};
  std::vector<float> heard;
  for (size_t begin = 0, size = 1; begin < bytes.size(); begin += size, size = size % 7 + 1) {
    const std::vector<float> more = decoder.decode(bytes.substr(begin, size));
    heard.insert(heard.end(), more.begin(), more.end());
  }
  EXPECT_EQ(heard, from_pcm16(bytes));
  decoder.decode("x");
  decoder.finish();
  EXPECT_TRUE(decoder.decode("y").empty()) << "half a sample does not wait for the next turn";
  decoder.clear();
  EXPECT_TRUE(decoder.decode("z").empty());
}

TEST(LineFormat, SoundPassesInEachFormat) {
  const std::vector<int16_t> sound = tone(kRealtimeRate);
  for (const LineFormat format :
       {LineFormat{}, LineFormat{.rate = 16000}, LineFormat{.rate = 48000},
        LineFormat{Encoding::kULaw, 8000}, LineFormat{Encoding::kALaw, 8000}}) {
    LineEncoder encoder(format);
    std::string bytes = encoder.encode(std::span(sound).first(1000));
    bytes += encoder.encode(std::span(sound).subspan(1000));
    bytes += encoder.finish();
    const size_t size = format.encoding == Encoding::kPcm16 ? 2 : 1;
    EXPECT_NEAR(static_cast<double>(bytes.size() / size), format.rate, 2);
    LineDecoder decoder(format);
    std::vector<float> heard = decoder.decode(std::string_view(bytes).substr(0, 2001));
    for (const auto& more :
         {decoder.decode(std::string_view(bytes).substr(2001)), decoder.finish()})
      heard.insert(heard.end(), more.begin(), more.end());
    EXPECT_NEAR(static_cast<double>(heard.size()), kRealtimeRate, 8);
    EXPECT_LT(error_of(heard), 0.012) << format.json();  // of 0.27
  }
}

TEST(LineFormat, IsReadInTodaysFormAndTheBetas) {
  const auto read = [](const char* json) {
    RequestFields fields(Json{{"format", Json::parse(json)}}, "");
    return read_line_format(fields, "format", {});
  };
  EXPECT_EQ(read(R"({"type": "audio/pcm", "rate": 24000})"), LineFormat());
  EXPECT_EQ(read(R"({"type": "audio/pcm"})"), LineFormat());
  EXPECT_EQ(read(R"("pcm16")"), LineFormat());
  EXPECT_EQ(read(R"({"type": "audio/pcm", "rate": 16000})").rate, 16000);
  for (const char* law :
       {R"("g711_alaw")", R"({"type": "audio/pcma"})", R"({"type": "audio/pcma", "rate": 8000})"}) {
    EXPECT_EQ(read(law), (LineFormat{Encoding::kALaw, 8000}));
  }
  EXPECT_EQ(read(R"("g711_ulaw")").json(), Json({{"type", "audio/pcmu"}}));
  for (const char* none : {R"("mp3")", "{}", R"({"type": "audio/pcm", "rate": 1})", "7",
                           R"({"type": "audio/pcmu", "rate": 24000})"}) {
    EXPECT_THROW(read(none), ApiError) << none;
  }
}

}  // namespace
}  // namespace predgen::serve
