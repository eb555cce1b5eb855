#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "hear/asr/ears.h"
#include "hear/asr/paired_decoder.h"
#include "tests/fakes/campaign_seeds.h"
#include "tests/fakes/spoken_sound.h"
#include "text/words.h"

namespace predgen::ears {
namespace {

/// Planted, for a check to find.
enum class Fault { kNone, kLosesFinals, kTellsTwice, kForgetsNothing, kBelievesAll, kRespells };

constexpr int kMisheard = 500;  // is added to a word that the fast one hears wrongly

/// Hears words at random: the fast one mishears some, says mostly that it is not sure of these, and
/// revises what it said before; the careful one is right. Both set commas as they like. Each decode
/// takes some windows of sound.
class UnsteadyDecoder : public DraftedDecoder {
 public:
  UnsteadyDecoder(Random& random, bool is_fast, Fault fault)
      : random_(random), is_fast_(is_fast), fault_(fault) {}

  DecoderPace pace() const override { return {.period = is_fast_ ? kRate / 5 : kRate * 2 / 5}; }
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token&) override {
    streams.insert(job.stream);
    ++num_decodes;
    Decoded decoded{.text = words_in(job.sound)};
    std::string text;
    for (size_t at = 0; at < decoded.text.size();) {
      const size_t end = std::min(decoded.text.find(' ', at + 1), decoded.text.size());
      int word = std::atoi(decoded.text.c_str() + at);
      const bool is_wrong = is_fast_ && random_.below(6) == 0, is_last = end == decoded.text.size();
      if (is_wrong) word += kMisheard;
      const bool is_sure = is_wrong ? fault_ == Fault::kBelievesAll || random_.below(8) == 0
                                    : random_.below(20) != 0;
      if (is_fast_) decoded.certainties.push_back(is_sure ? 0.9 : 0.2);
      const char* const mark = is_last ? "." : random_.below(4) == 0 ? "," : "";
      text += fmt::format(" {}{}", word, mark);
      at = end;
    }
    decoded.text = text;
    return decoded;
  }
  void draft(const DecodeJob& job, const std::string&) override { streams.insert(job.stream); }
  void forget(uint32_t stream) override {
    if (fault_ != Fault::kForgetsNothing) streams.erase(stream);
  }

  std::set<uint32_t> streams;  // that it keeps something of
  int64_t num_decodes = 0;

 private:
  Random& random_;
  const bool is_fast_;
  const Fault fault_;
};

/// Some people at once, each in a stream of sound, on a virtual clock of windows.
class PairedTalk {
 public:
  PairedTalk(uint64_t seed, Fault fault) : random_(seed, "paired"), fault_(fault) {
    begin_program();
  }

  /// The faults that were found.
  std::set<std::string> run() {
    const uint64_t num_people = 1 + random_.below(3);
    for (uint32_t stream = 1; stream <= num_people; ++stream) speak(stream);
    const bool may_die = random_.below(4) == 0;
    while (!people_.empty()) {
      for (auto& [stream, person] : people_) hear_window(person);
      if (may_die && random_.below(60) == 0) die();
      work();
      std::erase_if(people_, [](const auto& one) { return one.second.is_done; });
      if (++now_ > 5000) return {"it never ends"};
    }
    for (const uint32_t stream : ears_->take_ended()) decoder_->forget(stream);
    for (const UnsteadyDecoder* one : {fast_, careful_}) {
      if (!one->streams.empty()) faults_.insert("something of a stream is left");
    }
    return faults_;
  }

  int64_t num_heard_words = 0, num_wrong_words = 0, num_stopped = 0, num_careful = 0,
          num_deaths = 0;

 private:
  struct Person {
    std::vector<float> sound{};
    size_t place = 0;          // in the sound
    uint32_t in_program = 0;   // the number of its stream there
    int num_words = 0;         // in the sound
    int64_t segment = 0;       // that is told next
    std::vector<int> heard{};  // final words
    std::string text{};        // of the segment that is not final
    bool is_finished = false, is_done = false;
  };

  void begin_program() {
    auto fast = std::make_unique<UnsteadyDecoder>(random_, true, fault_);
    auto careful = std::make_unique<UnsteadyDecoder>(random_, false, fault_);
    fast_ = fast.get();
    careful_ = careful.get();
    decoder_ = std::make_unique<PairedDecoder>(std::move(fast), std::move(careful));
    ears_ = std::make_unique<Ears>([] { return hear_loudness; }, decoder_->pace());
    job_.reset();
  }

  void speak(uint32_t stream) {
    Person person{.in_program = stream};
    pause(person.sound, static_cast<int64_t>(random_.below(20)));
    for (uint64_t phrases = 1 + random_.below(3); phrases > 0; --phrases) {
      for (uint64_t words = 1 + random_.below(5); words > 0; --words) {
        ++person.num_words;
        say(person.sound, person.num_words, person.num_words);
        if (random_.below(3) == 0) pause(person.sound, static_cast<int64_t>(1 + random_.below(12)));
      }
      pause(person.sound, static_cast<int64_t>(1 + random_.below(30)));
    }
    people_.emplace(stream, std::move(person));
    next_stream_ = stream + 1;
  }

  void hear_window(Person& person) {
    if (person.is_finished) return;
    if (person.place == person.sound.size()) {
      person.is_finished = true;
      return take({.type = EarsFrame::Type::kEnd, .stream = person.in_program});
    }
    const auto window = std::span(person.sound).subspan(person.place, kWindow);
    person.place += kWindow;
    take({.type = EarsFrame::Type::kSound,
          .stream = person.in_program,
          .payload = samples_to_bytes(window)});
  }

  void take(const EarsFrame& frame) {
    ears_->take(frame);
    tell();
  }

  void work() {
    for (const uint32_t stream : ears_->take_ended()) decoder_->forget(stream);
    if (job_ && ears_->is_late() && random_.below(4) != 0) {  // it notices that before it is done
      ears_->finish_job(*job_, std::nullopt);
      ++num_stopped;
      job_.reset();
      tell();
    }
    if (job_ && now_ >= due_) {
      ears_->finish_job(*job_, decoder_->decode(*job_, {}));
      job_.reset();
      tell();
    }
    if (job_) return;
    job_ = ears_->next_job();
    if (!job_) return;
    num_careful += job_->is_careful ? 1 : 0;
    due_ = now_ + static_cast<int64_t>(random_.below(job_->is_careful ? 12 : 6));
  }

  /// As EarsRecogniser has it: what was told stays, as if there had been a pause, and the sound
  /// goes on in a new stream.
  void die() {
    ++num_deaths;
    begin_program();
    for (auto& [stream, person] : people_) {
      if (person.is_done) continue;
      end_segment(person);
      person.in_program = next_stream_++;
      person.segment = 0;
      if (person.is_finished) take({.type = EarsFrame::Type::kEnd, .stream = person.in_program});
    }
  }

  void tell() {
    for (const EarsFrame& frame : ears_->take_frames()) {
      for (auto& [stream, person] : people_) {
        if (person.in_program == frame.stream && !person.is_done) tell(person, frame);
      }
    }
  }
  void tell(Person& person, const EarsFrame& frame) {
    if (frame.type == EarsFrame::Type::kDone) return finish(person);
    const RecognisedSegment segment = segment_from_json(frame.payload);
    if (segment.number < person.segment) faults_.insert("a segment is told again");
    std::string text = segment.text;
    if (fault_ == Fault::kRespells && random_.below(4) == 0) text.insert(0, ".");
    if (segment.number == person.segment && respells(list_words(person.text), list_words(text))) {
      faults_.insert("a word that is the same is told otherwise");
    }
    person.segment = segment.number;
    person.text = text;
    if (!segment.is_over) return;
    if (fault_ == Fault::kLosesFinals && random_.below(4) == 0) person.text.clear();
    if (fault_ == Fault::kTellsTwice && random_.below(4) == 0) end_segment(person, /*keeps=*/true);
    end_segment(person);
    ++person.segment;
  }
  /// Whether words at the beginning are the same and written otherwise, but for the last of these.
  static bool respells(const std::vector<std::string>& before,
                       const std::vector<std::string>& now) {
    const auto same = [](const std::string& one, const std::string& other) {
      return bare_words(one) == bare_words(other);
    };
    const auto end = std::ranges::mismatch(before, now, same).in1;
    return end != before.begin() && !std::equal(before.begin(), std::prev(end), now.begin());
  }
  static void end_segment(Person& person, bool keeps = false) {
    for (size_t at = 0; at < person.text.size(); at = person.text.find(' ', at + 1)) {
      person.heard.push_back(std::atoi(person.text.c_str() + at));
    }
    if (!keeps) person.text.clear();
  }

  void finish(Person& person) {
    person.is_done = true;
    int last = 0;
    bool is_lost = false;
    for (const int word : person.heard) {
      const int said = word % kMisheard;
      num_wrong_words += word >= kMisheard ? 1 : 0;
      ++num_heard_words;
      if (said <= last) faults_.insert("a word is heard twice");
      is_lost = is_lost || said > last + 1;
      last = said;
    }
    is_lost = is_lost || last < person.num_words;
    // What a program that dies has not told is lost.
    if (is_lost && num_deaths == 0) faults_.insert("a word is lost");
  }

  Random random_;
  const Fault fault_;
  UnsteadyDecoder* fast_ = nullptr;
  UnsteadyDecoder* careful_ = nullptr;
  std::unique_ptr<PairedDecoder> decoder_;
  std::unique_ptr<Ears> ears_;
  std::map<uint32_t, Person> people_;
  std::optional<DecodeJob> job_;
  int64_t now_ = 0, due_ = 0;
  uint32_t next_stream_ = 1;
  std::set<std::string> faults_;
};

TEST(PairedTalks, NoWordIsLostOrHeardTwiceAndNothingIsLeft) {
  int64_t num_words = 0, num_wrong = 0, num_stopped = 0, num_careful = 0, num_deaths = 0;
  const auto [begin, end] = campaign_seeds("PREDGEN_TALK", 500);
  for (uint64_t seed = begin; seed < end; ++seed) {
    PairedTalk talk(seed, Fault::kNone);
    const std::set<std::string> faults = talk.run();
    ASSERT_TRUE(faults.empty()) << "again with PREDGEN_TALK=" << seed << ": "
                                << fmt::format("{}", fmt::join(faults, "; "));
    num_words += talk.num_heard_words;
    num_wrong += talk.num_wrong_words;
    num_stopped += talk.num_stopped;
    num_careful += talk.num_careful;
    num_deaths += talk.num_deaths;
  }
  if (end - begin < 100) return;
  EXPECT_LT(num_wrong * 25, num_words) << "words that are not sure are not believed";
  EXPECT_GT(num_stopped, 0);
  EXPECT_GT(num_careful, 0);
  EXPECT_GT(num_deaths, 0);
}

TEST(PairedTalks, EveryCheckFindsTheFaultThatItIsFor) {
  const std::map<Fault, std::string> planted{
      {Fault::kLosesFinals, "a word is lost"},
      {Fault::kTellsTwice, "a word is heard twice"},
      {Fault::kForgetsNothing, "something of a stream is left"},
      {Fault::kRespells, "a word that is the same is told otherwise"}};
  for (const auto& [fault, what] : planted) {
    bool is_found = false;
    for (uint64_t seed = 0; seed < 50 && !is_found; ++seed) {
      is_found = PairedTalk(seed, fault).run().contains(what);
    }
    EXPECT_TRUE(is_found) << what;
  }
  int64_t num_wrong = 0, num_words = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    PairedTalk talk(seed, Fault::kBelievesAll);
    talk.run();
    num_wrong += talk.num_wrong_words;
    num_words += talk.num_heard_words;
  }
  EXPECT_GT(num_wrong * 25, num_words);
}

}  // namespace
}  // namespace predgen::ears
