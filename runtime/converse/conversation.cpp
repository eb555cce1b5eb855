#include "runtime/converse/conversation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"
#include "hear/transcripts/transcript_lines.h"
#include "runtime/speech/wait_until_heard.h"
#include "text/word_spacing.h"

namespace predgen {
namespace {

constexpr float kDucked = 0.25f;  // -12 dB

float gain_of(Loudness loudness) {
  if (loudness == Loudness::kFull) return 1;
  return loudness == Loudness::kDucked ? kDucked : 0;
}

}  // namespace

Conversation::Conversation(const Options& options, ConversationListener& listener, Clock& clock,
                           const std::stop_token& stop)
    : options_(options),
      listener_(listener),
      clock_(clock),
      stop_(stop),
      queue_(clock),
      taking_(options.rules),
      on_stop_(stop, [this] {
        const Lock lock(mutex_);
        turn_.request_stop();
      }) {
  if (!options_.make_recogniser) return;
  recogniser_.emplace(options_.make_recogniser, options_.sample_rate, clock, *this);
  recogniser_->set_end(options_.end);
  recogniser_->set_on_voice([this](const UserVoice& voice) { hear_voice(voice); });
  if (options_.tells_pauses) {
    recogniser_->set_on_pause([this](const std::string& words) { on_pause(words); });
  }
}

bool Conversation::take_turn(Session& session, TranscriptSource& source) {
  const std::stop_token leaves = begin_turn();
  try {
    const std::optional<TurnResult> result = session.run_turn(source, observer(), leaves);
    if (!result) return false;
    listener_.on_event(Answered{*result, times()});
    if (result->metrics.audio_latency && !wait_until_heard(session.speaker(), clock_, leaves)) {
      listener_.on_event(SoundStuck{});
    }
  } catch (const Interrupted&) {
    if (stop_.stop_requested()) throw;
    const std::string heard = session.interrupt();
    listener_.on_event(BrokenOff{heard});
    if (heard.empty()) ask_again();
  }
  return true;
}

TurnObserver Conversation::observer() {
  TurnObserver observer;
  observer.on_transcript = [this](const Transcript& heard) { listener_.on_event(Heard{heard}); };
  observer.on_draft = [this](const std::string& draft, size_t accepted_bytes) {
    note_draft();
    listener_.on_event(Drafted{draft, accepted_bytes});
  };
  if (recogniser_ && options_.end.by_words) {
    observer.on_end_by_words = [this](const std::string& words, double probability) {
      expect_end(words, probability);
    };
  }
  observer.on_first_sentence = [this](const std::string& sentence) {
    listener_.on_event(SentenceDrafted{sentence});
  };
  observer.on_text = [this](const std::string& text) { listener_.on_event(Said{text}); };
  observer.on_rounds_dropped = [this](int64_t num_rounds) {
    listener_.on_event(RoundsDropped{num_rounds});
  };
  return observer;
}

std::stop_token Conversation::begin_turn() {
  const Lock lock(mutex_);
  act(taking_.on_silent(), "");
  turn_ = {};
  if (stop_.stop_requested()) turn_.request_stop();
  return turn_.get_token();
}

void Conversation::note_draft() {
  const Lock lock(mutex_);
  taking_.on_draft();
}

void Conversation::ask_again() {
  const Lock lock(mutex_);
  again_ = asked_;
  tick_locked();
}

SpokenTimes Conversation::times() const {
  const Lock lock(mutex_);
  return taken_;
}

std::optional<Transcript> Conversation::whole(std::optional<Transcript> heard) const {
  if (!heard || again_.empty()) return heard;
  const std::string text = joined_words(again_, heard->text);
  if (text.size() <= kMaxTurnBytes) heard->text = text;
  return heard;
}

std::string Conversation::without_again(const std::string& words) const {
  const Lock lock(mutex_);
  const size_t before = again_.empty() ? 0 : joined_words(again_, "x").size() - 1;
  return before <= words.size() ? words.substr(before) : words;
}

std::optional<Transcript> Conversation::latest(Seconds now) {
  const Lock lock(mutex_);
  return whole(queue_.latest(now));
}

std::optional<Transcript> Conversation::wait_newer(int64_t revision, Clock&) {
  std::optional<Transcript> newest = queue_.take(revision, stop_);
  const Lock lock(mutex_);
  newest = whole(std::move(newest));
  if (!newest || !newest->is_final) return newest;
  again_.clear();
  asked_ = newest->text;
  taken_ = untaken_.front();
  untaken_.pop_front();
  taken_.turn_ended = newest->time;
  if (options_.answers != nullptr) num_played_ = options_.answers->num_played();
  act(taking_.on_taken(clock_.now()), "");
  return newest;
}

void Conversation::add_sound(std::span<const float> samples) {
  {
    const Lock lock(mutex_);
    sound_length_ += Seconds(static_cast<double>(samples.size()) / options_.sample_rate);
    start_.note(sound_length_, clock_.now());
  }
  // If the microphone hears the assistant, its sound is ignored; but time goes on.
  if (options_.while_speaking == WhileSpeaking::kNotHeard && is_answering()) {
    return add_silence(samples.size());
  }
  recogniser_->add(samples);
  tick();
}

void Conversation::add_silence(size_t num_samples) {
  recogniser_->add(std::vector<float>(num_samples, 0.0f));
  tick();
}

void Conversation::commit_sound() { recogniser_->commit(); }

void Conversation::hear_voice(const UserVoice& voice) {
  std::optional<Seconds> begin;
  {
    const Lock lock(mutex_);
    begin = start_.get();
  }
  on_voice(voice.is_active,
           begin.value_or(clock_.now()) + Seconds(static_cast<double>(voice.until_ms) / 1000));
}

void Conversation::expect_end(const std::string& words, double probability) {
  recogniser_->expect_end(without_again(words), probability);
}

void Conversation::act(const TurnActions& actions, const std::string& words) {
  if (actions.sound && options_.answers != nullptr) {
    options_.answers->set_gain(gain_of(*actions.sound));
  }
  if (actions.forgets) queue_.forget_unfinished();
  if (actions.leaves) turn_.request_stop();
  if (!actions.commits || has_ended_) return;
  const Seconds now = clock_.now();
  const Seconds ended = std::min(voice_ended_ > Seconds(0) ? voice_ended_ : words_known_, now);
  untaken_.push_back({.voice_ended = ended, .words_known = std::clamp(words_known_, ended, now)});
  queue_.push(words, /*is_final=*/true);
}

void Conversation::on_words(const std::string& words) {
  const Lock lock(mutex_);
  is_speaking_ = true;
  words_known_ = clock_.now();
  act(taking_.on_words(words_known_, words), "");
  queue_.push(words, /*is_final=*/false);
}

void Conversation::on_turn(const RecognisedTurn& turn) {
  const Lock lock(mutex_);
  end_turn(turn.text);
}

void Conversation::on_lost(const SoundError& why) {
  const Lock lock(mutex_);
  ++num_lost_;
  if (std::exchange(lost_, why.what()) != why.what()) listener_.on_event(SpeechLost{lost_});
  end_turn("");
}

void Conversation::end_turn(const std::string& words) {
  is_speaking_ = false;
  TurnActions actions = taking_.on_end(clock_.now(), words);
  // A turn that was not taken yet has it in front already.
  const bool is_owed =
      actions.forgets && !again_.empty() && untaken_.empty() && !taking_.is_answering();
  if (is_owed) actions = taking_.on_end(clock_.now(), again_);
  act(actions, is_owed ? "" : words);
}

void Conversation::on_voice(bool is_active, Seconds ended) {
  const Lock lock(mutex_);
  is_speaking_ = is_speaking_ || is_active;
  if (!is_active) voice_ended_ = ended;
  act(taking_.on_voice(clock_.now(), is_active), "");
}

void Conversation::on_pause(const std::string& words) { queue_.push_stable(words); }

void Conversation::look_at_sound() {
  if (options_.answers == nullptr || taking_.state() != TurnTaking::State::kCommitted) return;
  if (taking_.is_answering() && options_.answers->num_played() > num_played_) {
    act(taking_.on_sound(clock_.now()), "");
  }
}

void Conversation::tick() {
  const Lock lock(mutex_);
  tick_locked();
}

void Conversation::tick_locked() {
  look_at_sound();
  act(taking_.tick(clock_.now()), "");
  if (!again_.empty() && taking_.state() == TurnTaking::State::kIdle) end_turn("");
}

void Conversation::end(std::exception_ptr failure) {
  {
    const Lock lock(mutex_);
    const std::string last = queue_.settle();
    if (!is_blank(last)) end_turn(last);
    has_ended_ = true;
  }
  queue_.end(std::move(failure));
}

TurnTaking::State Conversation::state() const {
  const Lock lock(mutex_);
  return taking_.state();
}

bool Conversation::is_speaking() const {
  const Lock lock(mutex_);
  return is_speaking_;
}

bool Conversation::is_over() const {
  const Lock lock(mutex_);
  return !is_speaking_ && (taking_.is_answering() || !untaken_.empty());
}

bool Conversation::is_answering() const {
  const Lock lock(mutex_);
  return taking_.is_answering();
}

size_t Conversation::size() const {
  const Lock lock(mutex_);
  return queue_.size() + untaken_.size();
}

int64_t Conversation::num_lost() const {
  const Lock lock(mutex_);
  return num_lost_;
}

}  // namespace predgen
