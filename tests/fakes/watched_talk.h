#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/speech/virtual_speaker.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/talk_schedule.h"

namespace predgen {

/// Planted, for a check to find.
enum class Fault {
  kNone,
  kLosesTurns,
  kLeaks,
  kRepeats,
  kMiscounts,
  kNeverLooks,
  kOtherText,
  kGrows
};

/// Tells what is said, and by a planted fault what is only prepared.
class WatchedSpeaker : public VirtualSpeaker {
 public:
  using VirtualSpeaker::VirtualSpeaker;
  void prepare(const std::string& sentence) override {
    if (leaks) return say(sentence);
    VirtualSpeaker::prepare(sentence);
  }
  void say(const std::string& sentence) override {
    on_say(sentence);
    VirtualSpeaker::say(sentence);
  }
  std::function<void(const std::string&)> on_say = [](const std::string&) {};
  bool leaks = false;
};

/// A user, a session, its voice and its loudspeaker, with checks of what they promise. All of it
/// runs in one thread: what a recogniser tells comes between passes, writes and waits of the
/// session, as it does from other threads. Every other session is as the preset "default" makes it,
/// with n-grams; the rest guess nothing.
struct WatchedTalk : TranscriptSource, ConversationListener {
  WatchedTalk(uint64_t seed, double seconds, Fault planted)
      : fault(planted),
        random(seed, "room"),
        owned_speaker(std::make_unique<WatchedSpeaker>(
            clock,
            VirtualSpeaker::Options{.cost = SpeechCost{.to_first_audio = Seconds(0.05)},
                                    .synthesizer = &voice,
                                    .sink = &sink},
            std::stop_token())),
        speaker(*owned_speaker),
        session(Stage::session_config({.preset = seed % 2 == 0 ? "default" : "",
                                       .yields_to_words = seed % 3 == 0,
                                       .context_length = planted == Fault::kGrows ? 4000 : 700}),
                engine, tokenizer, std::move(owned_speaker), clock),
        user({.answers = &sink}, *this, clock, {}),
        schedule(seed, seconds, clock, user) {
    engine.observe_passes([this](const PassSize&) {
      clock.advance(Seconds(kPass));
      clock.run_due();
    });
    sink.on_heard = [this](int64_t sample) { hear_sample(sample); };
    speaker.on_say = [this](const std::string& sentence) { say(sentence); };
    schedule.after_words = [this](const std::string& words) {
      if (user.is_answering() && !is_backchannel(words))
        check(sink.gain() == 0, "words do not stop the answer");
    };
    schedule.loses_turns = fault == Fault::kLosesTurns;
    speaker.leaks = fault == Fault::kLeaks;
    sink.repeats = fault == Fault::kRepeats;
    if (random.below(3) == 0) sink.slowness = 0.3 * random.uniform();
    if (random.below(5) == 0)
      during(seconds, [this](bool is) {
        voice.is_dead = is;
        may_fail = is || may_fail;
      });
    if (random.below(8) == 0)
      during(seconds, [this](bool is) {
        sink.is_broken = is;
        may_fail = is || may_fail;
      });
    if (random.below(8) == 0) during(seconds, [this](bool is) { sink.stand_still(is); });
    tick();
  }

  void during(double seconds, std::function<void(bool)> set) {
    const double begin = seconds * random.uniform();
    clock.after(begin, [set] { set(true); });
    clock.after(begin + 4 * random.uniform(), [set] { set(false); });
  }
  void check(bool is_right, const std::string& what) {
    if (!is_right) faults.insert(what);
  }
  void tick() {
    if (fault != Fault::kNeverLooks) user.tick();
    const bool is_undisturbed = user.is_answering() &&
                                user.state() != TurnTaking::State::kInterrupted &&
                                clock.now() - schedule.last_event() > Seconds(0.7);
    if (is_undisturbed) check(sink.gain() == 1, "the answer stays soft");
    sink.num_played();  // plays what is due
    const bool is_interrupted = user.state() == TurnTaking::State::kInterrupted;
    num_resumed +=
        std::exchange(was_interrupted, is_interrupted) && !is_interrupted && user.is_answering();
    if (!schedule.has_ended()) clock.after(0.02, [this] { tick(); });
  }

  // What the session sees.

  std::optional<Transcript> latest(Seconds now) override {
    clock.run_due();
    return user.latest(now);
  }
  bool expects_words(Seconds now) override { return user.expects_words(now); }
  std::optional<Transcript> wait_newer(int64_t revision, Clock&) override {
    while (!schedule.has_ended()) {
      const auto newest = user.latest(clock.now());
      if (newest && newest->revision > revision) break;
      clock.step();
    }
    std::optional<Transcript> heard = user.wait_newer(revision, clock);
    if (!heard || !heard->is_final) return heard;
    is_final = true;
    asked = heard->text;
    taken += "|" + asked + "|";
    check(asked.starts_with(owed), "a question that was not answered is lost");
    owed.clear();
    return heard;
  }

  // What the user gets.

  void say(const std::string& sentence) {
    check(is_final, "something is said before the turn is over");
    if (said.sentences.empty()) first_sample = voice.num_samples;
    said.sentences.push_back({.text = sentence, .length = Seconds(0), .is_whole = true});
    ends.push_back(voice.num_samples);
  }
  void hear_sample(int64_t sample) {
    check(sample > last_sample, "a sample is heard twice");
    while (++last_sample < sample) check(sink.dropped.contains(last_sample), "a sample is lost");
    sink.dropped.erase(sink.dropped.begin(), sink.dropped.upper_bound(sample));
    if (sample >= first_sample) ++num_heard;
  }
  /// Of the answer's text, by the samples that the loudspeaker has played.
  std::string heard() {
    for (size_t i = 0; i < ends.size(); ++i) {
      const int64_t end = i + 1 < ends.size() ? ends[i + 1] : voice.num_samples;
      said.sentences[i].length = Seconds(static_cast<double>(end - ends[i]) / NumberedVoice::kRate);
    }
    said.played = Seconds(static_cast<double>(num_heard) / NumberedVoice::kRate);
    return heard_text(shown, said);
  }
  std::string plain(TokenIds prompt) const {
    const size_t begin = prompt.size();
    while (prompt.size() < begin + 40) {
      const TokenId next = hashed_word(prompt);
      if (next == FakeTokenizer::kEnd) break;
      prompt.push_back(next);
    }
    return tokenizer.decode(TokenSpan(prompt).subspan(begin));
  }

  void on_event(const ConversationEvent& event) override {
    if (const auto* more = std::get_if<Said>(&event)) {
      check(is_final, "a text is shown before the turn is over");
      shown += more->text;
    } else if (const auto* answered = std::get_if<Answered>(&event)) {
      answer = answered->result;
    } else if (const auto* broken = std::get_if<BrokenOff>(&event)) {
      is_left = true;
      leave(broken->kept);
    }
  }

  bool run_turn() {
    before = session.history();
    said = {};
    ends.clear();
    shown.clear();
    num_heard = 0;
    is_final = is_left = false;
    may_fail = voice.is_dead || sink.is_broken;
    first_sample = voice.num_samples;
    stood_still = sink.stands_still() || sink.num_queued() > 0;
    if (!user.take_turn(session, *this)) return false;
    if (!is_left) finish(*answer, stood_still || sink.stands_still() || sink.num_queued() > 0);
    check_sizes();
    ++num_turns;
    return true;
  }
  void finish(const TurnResult& result, bool is_still) {
    if (result.error) {
      ++num_failed;
      return check(session.history().size() <= before.size(), "a turn that failed is remembered");
    }
    std::string expected = plain(result.prompt);
    if (fault == Fault::kOtherText) expected += ".";
    check(result.text == expected && shown == expected, "the text is not plain decoding's");
    num_guessed += std::ssize(result.answer) > result.metrics.total_nfe;
    const std::vector<Message> history = session.history();
    check(history.size() >= 2 && history[history.size() - 2].content == asked &&
              history.back().content == shown,
          "the history has another answer");
    if (!is_still) check(num_heard == voice.num_samples - first_sample, "not all was heard");
  }
  void leave(std::string kept) {
    ++num_left;
    if (fault == Fault::kMiscounts) kept = session.interrupt(Seconds(0.2));
    check(sink.num_queued() == 0, "sound goes on");
    if (!stood_still && !sink.stands_still()) {
      const std::string expected = heard();
      check(kept == expected || (may_fail && kept.empty()),
            fmt::format("the history has '{}', and '{}' was heard", kept, expected));
      TokenIds prompt = tokenizer.render_chat(with(asked));
      const bool has_all = std::ssize(prompt) < 400;  // or old rounds may be dropped
      if (has_all)
        check(plain(prompt).starts_with(shown), "a text that was left is not plain decoding's");
    }
    const std::vector<Message> history = session.history();
    if (!kept.empty()) {
      num_cut += kept != shown;
      return check(history.size() >= 2 && history.back().content == kept,
                   "what was heard is not remembered");
    }
    check(history.size() <= before.size(), "what was not heard is remembered");
    if (!schedule.has_ended()) owed = asked;
  }
  std::vector<Message> with(const std::string& text) const {
    std::vector<Message> messages = before;
    messages.push_back({.role = "user", .content = text});
    return messages;
  }
  void check_sizes() {
    check(user.size() <= 12, "transcripts pile up");
    check(clock.num_events() <= 64, "events pile up");
    check(session.history().size() <= 80, "the history grows");
    check(engine.pool().num_allocated() <= 4096, "positions pile up");
  }

  /// Until the user is gone; the faults that were found.
  std::set<std::string> run() {
    try {
      while (run_turn() && num_turns < 100'000) continue;
      check(sink.gain() == 1 && user.size() <= 1, "something is left at the end");
      check(owed.empty(), "a question is never answered");
      size_t place = 0;
      for (const std::string& turn : schedule.turns_said) {
        place = taken.find(turn, place);
        check(place != std::string::npos, "a turn is lost");
        if (place == std::string::npos) break;
      }
    } catch (const std::exception& error) {
      faults.insert(error.what());
    }
    return faults;
  }

  const Fault fault;
  Random random;
  const FakeTokenizer tokenizer{kWords};
  EventClock clock;
  FakeLanguageModel model{{.vocab_size = tokenizer.vocab_size(), .next = hashed_word}};
  Engine engine = borrowing_engine(model);
  NumberedVoice voice;
  Loudspeaker sink{clock};
  std::unique_ptr<WatchedSpeaker> owned_speaker;
  WatchedSpeaker& speaker;
  Session session;
  Conversation user;
  TalkSchedule schedule;

  std::set<std::string> faults;
  std::vector<Message> before;
  std::string asked, shown, owed, taken;
  SpokenAnswer said;
  std::vector<int64_t> ends;  // the number of the first sample of each sentence
  int64_t first_sample = 0, last_sample = -1, num_heard = 0;
  bool is_final = false, is_left = false, stood_still = false;
  std::optional<TurnResult> answer;  // the last one
  bool may_fail = false;  // this turn: it is forgotten then, even if some of it was heard
  bool was_interrupted = false;
  int64_t num_turns = 0, num_resumed = 0, num_left = 0, num_cut = 0, num_failed = 0;
  int64_t num_guessed = 0;  // answers with more tokens than passes, drafts included
};

}  // namespace predgen
