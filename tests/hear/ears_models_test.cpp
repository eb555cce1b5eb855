#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>

#include "audio/sample_encoding.h"
#include "core/edit_distance.h"
#include "core/files.h"
#include "core/model_names.h"
#include "hear/make_recogniser.h"
#include "hear/turn_recogniser.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/waiting.h"
#include "voice/espeak/espeak_helper.h"

namespace predgen {
namespace {

struct Spoken {
  int rate = 0;
  std::vector<float> samples;
  std::vector<std::string> words;
};

/// A person, of Debian's pocketsphinx-testdata, or else espeak-ng.
std::optional<Spoken> spoken() {
  const std::filesystem::path recording = "/usr/share/pocketsphinx/test/data/goforward.raw";
  if (std::filesystem::exists(recording)) {
    return Spoken{16000, from_pcm16(read_file(recording)), {"go", "forward", "10", "meters"}};
  }
  try {
    EspeakHelper helper({}, Seconds(20), "this test");
    helper.request({{"text", "I would like a table for two people tomorrow evening."},
                    {"voice", "en-us"},
                    {"rate", 150},
                    {"pitch", 50}});
    std::string sound;
    for (auto frame = helper.receive(); frame && frame->type == EspeakFrame::Type::kAudio;
         frame = helper.receive()) {
      sound += frame->payload;
    }
    return Spoken{
        helper.sample_rate(),
        from_pcm16(sound),
        {"i", "would", "like", "a", "table", "for", "two", "people", "tomorrow", "evening"}};
  } catch (const UserError&) {
    return std::nullopt;  // no predgen-espeak
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string letters;
  for (const char byte : text) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(byte)) != 0;
    letters += is_letter ? static_cast<char>(std::tolower(static_cast<unsigned char>(byte))) : ' ';
  }
  std::istringstream stream(letters);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct TurnListener : RecognisedTurnHandler {
  void on_speech(int64_t, int64_t) override {}
  void on_words(const std::string&) override {}
  void on_turn(const RecognisedTurn& turn) override {
    const Lock lock(mutex);
    turns.push_back(turn);
  }
  void on_lost(const SoundError& why) override { ADD_FAILURE() << why.what(); }
  Mutex mutex;
  std::vector<RecognisedTurn> turns;
};

/// The program with its models, which are fetched; without them its tests are skipped.
struct EarsModelsTest : testing::Test {
  void SetUp() override {
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-ears";
    if (!std::filesystem::exists(program)) {
      GTEST_SKIP() << "predgen-ears was not built (PREDGEN_SPEECH=OFF)";
    }
    const std::filesystem::path folder = models_folder();
    for (const char* const name : {"whisper-base", "whisper-tiny.en"}) {
      if (std::filesystem::exists(folder / name)) options.recogniser = folder / name;
    }
    options.voice_activity = folder / "silero";
    options.end_of_turn = folder / "smart-turn";
    for (const auto& place : {options.recogniser, options.voice_activity, options.end_of_turn}) {
      if (place.empty() || !std::filesystem::exists(place)) {
        GTEST_SKIP()
            << "the models whisper-tiny.en or whisper-base, silero and smart-turn are not in "
            << folder.string();
      }
    }
  }

  /// The turns in some sound and three seconds of faint noise, said in a tenth of a second.
  std::vector<RecognisedTurn> hear(std::vector<float> sound, int rate, size_t num_turns) {
    std::mt19937 random(1);
    std::normal_distribution<float> noise(0, 3e-4f);
    for (int i = 0; i < 3 * rate; ++i) sound.push_back(0);
    for (float& sample : sound) sample += noise(random);
    if (!make) make = recognisers_here(options);
    TurnListener listener;
    TurnRecogniser turns(make, rate, clock, listener);
    turns.set_end({.is_detected = true, .waits = EndWaits{}});
    turns.add(sound);
    const auto count = [&] {
      const Lock lock(listener.mutex);
      return listener.turns.size();
    };
    if (num_turns == 0) {
      turns.commit();  // so that there is an end
      num_turns = 1;
    }
    EXPECT_TRUE(comes_true([&] { return count() >= num_turns; }));
    const Lock lock(listener.mutex);
    return listener.turns;
  }

  EarsOptions options;
  ManualClock clock;
  MakeRecogniser make;
};

TEST_F(EarsModelsTest, WordsAreUnderstoodHoweverTheyWereRecorded) {
  const std::optional<Spoken> said = spoken();
  if (!said) GTEST_SKIP() << "neither pocketsphinx-testdata nor predgen-espeak is here";
  struct Recording {
    const char* name;
    std::function<float(float)> change;
  };
  for (const Recording& recording :
       {Recording{"as it is", [](float x) { return x; }},
        Recording{"with an offset", [](float x) { return x + 0.2f; }},
        Recording{"quiet", [](float x) { return x * 0.05f; }},
        Recording{"clipped", [](float x) { return std::clamp(x * 12, -1.0f, 1.0f); }}}) {
    std::vector<float> sound = said->samples;
    for (float& sample : sound) sample = recording.change(sample);
    const std::vector<RecognisedTurn> turns = hear(sound, said->rate, 1);
    std::string text;
    for (const RecognisedTurn& turn : turns) text += turn.text + ' ';
    const int64_t errors = edit_distance(words_of(text), said->words);
    std::cout << "  " << recording.name << ": " << text << "(" << errors << " of "
              << said->words.size() << " words wrong)\n";
    EXPECT_LE(errors, std::max<int64_t>(1, std::ssize(said->words) / 4))
        << recording.name << ": " << text;
  }
}

TEST_F(EarsModelsTest, MoonshineUnderstandsAloneAndBesideWhisper) {
  const std::optional<Spoken> said = spoken();
  const std::filesystem::path moonshine = models_folder() / "moonshine-tiny";
  if (!said) GTEST_SKIP() << "neither pocketsphinx-testdata nor predgen-espeak is here";
  if (!std::filesystem::exists(moonshine)) GTEST_SKIP() << "moonshine-tiny was not fetched";
  const EarsOptions whisper = options;
  options.recogniser = moonshine;
  EarsOptions both = whisper;
  both.fast_recogniser = moonshine;
  for (const EarsOptions& one : {options, both}) {
    make = recognisers_here(one);
    const std::vector<RecognisedTurn> turns = hear(said->samples, said->rate, 1);
    ASSERT_FALSE(turns.empty());
    const int64_t errors = edit_distance(words_of(turns[0].text), said->words);
    EXPECT_LE(errors, std::max<int64_t>(1, std::ssize(said->words) / 3)) << turns[0].text;
  }
  std::vector<float> longer;  // than the 9.2 s from which on a mask was too long once
  while (std::ssize(longer) < 10 * said->rate)
    longer.insert(longer.end(), said->samples.begin(), said->samples.end());
  longer.resize(static_cast<size_t>(said->rate) * 19 / 2);
  EarsOptions patient = options;  // all of it comes at once, and this machine may have other work
  patient.limits.answer_seconds = 120;
  make = recognisers_here(patient);
  const std::vector<RecognisedTurn> turns = hear(longer, said->rate, 1);
  ASSERT_FALSE(turns.empty());
  EXPECT_GE(words_of(turns[0].text).size(), said->words.size() / 2) << turns[0].text;
  make = {};
  options.language = "de";
  expect_user_error([&] { recognisers_here(options); }, {"hears English only, not 'de'"});
  options = both;
  options.recogniser = moonshine;
  expect_user_error([&] { recognisers_here(options); },
                    {"--fast-recogniser is for a --recogniser of"});
}

TEST_F(EarsModelsTest, SoundOfATelephoneIsUnderstood) {
  const std::optional<Spoken> said = spoken();
  if (!said) GTEST_SKIP() << "neither pocketsphinx-testdata nor predgen-espeak is here";
  std::vector<float> half;
  for (size_t i = 0; i + 1 < said->samples.size(); i += 2) {
    half.push_back((said->samples[i] + said->samples[i + 1]) / 2);
  }
  const auto turns = hear(half, said->rate / 2, 1);
  ASSERT_FALSE(turns.empty());
  EXPECT_LE(edit_distance(words_of(turns[0].text), said->words),
            std::max<int64_t>(1, std::ssize(said->words) / 3))
      << turns[0].text;
}

TEST_F(EarsModelsTest, NothingIsHeardInSilenceAndNoise) {
  std::mt19937 random(2);
  for (const float loudness : {0.0f, 0.02f}) {
    std::normal_distribution<float> noise(0, loudness);
    std::vector<float> sound(4 * 16000);
    for (float& sample : sound) sample = noise(random);
    const auto turns = hear(sound, 16000, 0);
    ASSERT_EQ(turns.size(), 1u) << loudness;
    EXPECT_EQ(turns[0].text, "") << loudness;
  }
}

TEST_F(EarsModelsTest, WhatIsWrongWithAModelIsSaidInOneLine) {
  options.language = "tlh";
  expect_user_error([&] { recognisers_here(options); }, {"tlh"});
  options.language = "en";
  options.recogniser = "/no/model";
  expect_user_error([&] { recognisers_here(options); }, {"/no/model"});
  options.recogniser = options.voice_activity;
  expect_user_error([&] { recognisers_here(options); }, {"encoder"});
}

}  // namespace
}  // namespace predgen
