#include "audio/sound_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "audio/sound_encoder.h"
#include "core/files.h"
#include "hear/recogniser.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

std::string little(uint32_t value, int num_bytes = 4) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

std::string chunk(const std::string& name, const std::string& content, bool is_padded = true) {
  const std::string padding(is_padded ? content.size() % 2 : 0, '\0');
  return name + little(static_cast<uint32_t>(content.size())) + content + padding;
}

/// Two channels of 16 bits at 16 kHz.
std::string format() {
  return little(1, 2) + little(2, 2) + little(16000) + little(64000) + little(4, 2) + little(16, 2);
}

constexpr size_t kWrittenFrames = 3000;

/// Of frames 1/8 and -1/4.
std::string frames() {
  std::string bytes;
  for (size_t i = 0; i < kWrittenFrames; ++i) bytes += little(0x1000, 2) + little(0xE000, 2);
  return bytes;
}

std::string riff(uint32_t size, const std::string& chunks) {
  return "RIFF" + little(size) + "WAVE" + chunks;
}

/// How many frames are read; all must be as written.
size_t read_all(const std::string& bytes) {
  SoundFile sound(bytes);
  EXPECT_EQ(sound.sample_rate(), 16000);
  EXPECT_EQ(sound.num_channels(), 2);
  size_t total = 0;
  std::vector<float> block(2 * 256);
  while (const int64_t count = sound.read(block)) {
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_FLOAT_EQ(block[static_cast<size_t>(2 * i)], 0.125f);
      EXPECT_FLOAT_EQ(block[static_cast<size_t>(2 * i + 1)], -0.25f);
    }
    total += static_cast<size_t>(count);
  }
  return total;
}

TEST(SoundFile, AWavFileWhoseHeaderWasNeverFinishedIsReadToItsEnd) {
  const std::string before = chunk("fmt ", format());
  for (const uint32_t size : {0u, 4u, 8u, 400u, 0x7FFFF000u, 0x80000000u, 0xFFFFFFFFu}) {
    for (const uint32_t riff_size : {0u, 8u, 36u, 0x7FFFF024u, 0xFFFFFFFFu}) {
      const std::string bytes = riff(riff_size, before + "data" + little(size) + frames());
      EXPECT_EQ(read_all(bytes), kWrittenFrames) << size << " " << riff_size;
      EXPECT_EQ(read_all(bytes + "xyz"), kWrittenFrames) << "cut inside a frame";
    }
  }
}

TEST(SoundFile, ChunksAroundTheSoundAreNone) {
  const std::string whole = chunk("data", frames());
  const std::string list = chunk("LIST", "INFOISFT" + little(6) + "Lavf60");
  for (const bool is_padded : {true, false}) {
    const std::string odd = chunk("junk", "abc", is_padded);
    for (const std::string& chunks :
         {chunk("fmt ", format()) + odd + whole, odd + chunk("fmt ", format()) + list + whole,
          chunk("fmt ", format()) + whole + list, chunk("fmt ", format()) + odd + whole + list}) {
      const auto size = static_cast<uint32_t>(chunks.size() + 4);
      EXPECT_EQ(read_all(riff(size, chunks)), kWrittenFrames) << is_padded;
    }
  }
}

TEST(SoundFile, WhatIsNoSoundIsNamed) {
  const auto open = [](const std::string& bytes) { return [bytes] { SoundFile sound(bytes); }; };
  expect_user_error(open(""), {"is empty"});
  expect_user_error(open("RIFF"), {"cannot be read as sound"});
  expect_user_error(open(riff(4, "")), {""});
  expect_user_error(open(riff(0, chunk("fmt ", format()) + chunk("data", ""))), {"holds no sound"});
  expect_user_error(open(riff(0, chunk("data", frames()))), {""});
  const TemporaryFolder folder;
  write_file(folder / "empty.wav", "");
  expect_user_error([&] { SoundFile sound(folder / "empty.wav"); }, {"empty.wav: is empty"});
  expect_user_error([&] { SoundFile sound(folder / "none.wav"); }, {"none.wav: no such file"});
}

/// Two seconds of a tone.
std::string recording(SoundFormat format, int rate) {
  std::vector<float> samples(2 * static_cast<size_t>(rate));
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = 0.5F * std::sin(static_cast<float>(i) * 2000.0F / static_cast<float>(rate));
  }
  SoundEncoder encoder(format, rate);
  std::string bytes = encoder.encode(samples);
  return bytes + encoder.finish();
}

std::vector<float> all_of(std::string_view bytes) {
  SoundInMemory sound{std::string(bytes)};
  std::vector<float> all;
  for (auto block = sound.read(); !block.empty(); block = sound.read()) {
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

TEST(SoundInMemory, IsWhatARecogniserWantsWhateverItWas) {
  for (const auto& [name, format] : sound_formats()) {
    if (format == SoundFormat::kPcm) continue;
    const std::vector<float> heard = all_of(recording(format, 48000));
    EXPECT_NEAR(static_cast<double>(heard.size()), 2 * kRecogniserRate, 3000) << name;
    double sum = 0;
    for (const float sample : heard) sum += std::abs(static_cast<double>(sample));
    EXPECT_NEAR(sum / static_cast<double>(heard.size()), 0.32, 0.05) << name;
  }
}

TEST(SoundInMemory, WhatIsNoSoundIsSaid) {
  expect_user_error([] { SoundInMemory(""); }, {"is empty"});
  expect_user_error([] { SoundInMemory("no sound at all"); }, {"cannot be read as sound"});
  expect_user_error(
      [] {
        SoundInMemory(
            std::string("\0\0\0\x20"
                        "ftypM4A ",
                        12));
      },
      {"as sound"});
}

}  // namespace
}  // namespace predgen
