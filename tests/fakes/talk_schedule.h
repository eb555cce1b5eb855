#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/text.h"
#include "runtime/converse/conversation.h"
#include "tests/fakes/talk_room.h"
#include "text/words.h"

namespace predgen {

/// A user as two recognisers hear him, at random: turns with words that are revised, coughs,
/// acknowledgements, words that were none, and a recogniser that dies. At pauses the fast one's
/// words come first; the careful one may have others, later, or never. Each word is said once.
class TalkSchedule {
 public:
  /// From now on until then; borrows all.
  TalkSchedule(uint64_t seed, double seconds, EventClock& clock, Conversation& user)
      : random_(seed, "talk"), end_(seconds), clock_(clock), user_(user) {
    clock_.after(random_.uniform(), [this] { begin_utterance(); });
  }

  bool has_ended() const { return has_ended_; }
  /// When something of the user was heard last.
  Seconds last_event() const { return last_event_; }

  /// Before each that is told, and behind it.
  std::function<void(const std::string& words)> before_words = [](const std::string&) {};
  std::function<void(const std::string& words)> after_words = [](const std::string&) {};
  std::vector<std::string> turns_said;  // those that are to be answered, whoever speaks meanwhile
  bool loses_turns = false;             // a planted fault: one in four is not told

 private:
  void begin_utterance() {
    if (clock_.now() >= Seconds(end_)) {
      return clock_.after(20 * random_.uniform(), [this] {
        has_ended_ = true;
        user_.end();
      });
    }
    const uint64_t kind = random_.below(8);
    double length = 0;
    if (kind == 0) {
      length = cough();
    } else if (kind == 1) {
      length = acknowledge();
    } else {
      length = speak();
    }
    const double longest = random_.below(3) == 0 ? 0.3 : random_.below(2) == 0 ? 3 : 8;
    clock_.after(length + longest * random_.uniform(), [this] { begin_utterance(); });
  }

  void voice(double after, bool is_active) {
    clock_.after(after, [this, is_active] {
      last_event_ = clock_.now();
      user_.on_voice(is_active, clock_.now());
    });
  }
  void words(double after, const std::string& text) {
    clock_.after(after, [this, text] {
      last_event_ = clock_.now();
      before_words(text);
      user_.on_words(text);
      after_words(text);
    });
  }
  void turn(double after, const std::string& text) {
    if (!is_backchannel(text)) turns_said.push_back(text);
    if (loses_turns && random_.below(4) == 0) return;
    clock_.after(after, [this, text] {
      last_event_ = clock_.now();
      user_.on_turn({.text = text});
    });
  }
  void die(double after) {
    clock_.after(after, [this] {
      last_event_ = clock_.now();
      user_.on_lost({SoundError::Kind::kLost, "the recogniser has died"});
    });
  }

  double cough() {
    const double length = 0.1 + 0.4 * random_.uniform();
    voice(0, true);
    voice(length, false);
    if (random_.below(3) != 0) return length;
    words(0.2, "you");
    const double back = 0.2 + 0.8 * random_.uniform();
    words(back, random_.below(2) == 0 ? "" : "hm");
    if (random_.below(2) == 0) turn(back + 0.2, "");
    return std::max(length, back) + 0.2;
  }

  double acknowledge() {
    static const std::vector<std::string> kOnes{"hm", "Yeah.", "Okay, yeah.", "mm-hm"};
    const std::string text = kOnes[random_.below(kOnes.size())];
    voice(0, true);
    words(0.3, text);
    voice(0.4, false);
    turn(0.8, text);
    return 0.8;
  }

  double speak() {
    const bool tells_voice = random_.below(5) != 0;
    if (tells_voice) voice(0, true);
    double time = 0.2;
    std::string said;
    const uint64_t num_words = 1 + random_.below(4);
    for (uint64_t i = 0; i < num_words; ++i) {
      time += 0.1 + 0.4 * random_.uniform();
      const std::string word = next_word();
      const uint64_t luck = random_.below(12);
      words(time, luck == 0 ? "" : luck < 4 ? joined(said, " ", "zz") : joined(said, " ", word));
      said = joined(said, " ", word);
    }
    if (random_.below(15) == 0) {
      die(time + 0.05);
      return time + 0.1;
    }
    if (tells_voice) voice(time + 0.1, false);
    return end_turn(time + 0.2, said);
  }

  double end_turn(double time, const std::string& said) {
    if (random_.below(2) == 0) {
      time += random_.uniform();
      turn(time, random_.below(20) == 0 ? "" : said);
      return time;
    }
    const std::string fast = random_.below(2) == 0 ? said : joined(said, " ", "zq");
    words(time, fast);
    const double lag = 0.05 + 0.6 * random_.uniform();
    const uint64_t luck = random_.below(8);
    if (luck < 3) {  // the fast one is believed, or the careful one has died
      turn(time + lag, fast);
    } else {
      words(time + lag, luck == 3 ? "" : said);
      if (luck == 3) words(time + lag + 0.01, said);
      turn(time + lag + 0.3 * random_.uniform() + 0.01, said);
    }
    return time + lag + 0.32;
  }

  std::string next_word() {
    std::string word;
    for (uint64_t left = ++num_words_; left > 0; left /= 26)
      word += static_cast<char>('a' + left % 26);
    return "x" + word;
  }

  Random random_;
  const double end_;
  EventClock& clock_;
  Conversation& user_;
  uint64_t num_words_ = 0;
  Seconds last_event_{0};
  bool has_ended_ = false;
};

}  // namespace predgen
