#include "runtime/converse/conversation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"
#include "hear/transcripts/transcript_lines.h"
#include "runtime/speech/speaker.h"

namespace predgen {
namespace {

/// Of the words before a pause: a recogniser that takes longer, or has nothing new, is not waited
/// for.
constexpr Seconds kLongestDecode{1.0};

}  // namespace

Conversation::Conversation(const Options& options, ConversationListener& listener, Clock& clock,
                           const std::stop_token& stop)
    : options_(options),
      listener_(listener),
      clock_(clock),
      stop_(stop),
      queue_(clock),
      taking_(options.rules),
      sound_(options.answers),
      first_words_(options.rules),
      end_(options.end),
      on_stop_(stop, [this] {
        const Lock lock(mutex_);
        turn_.request_stop();
      }) {
  if (options_.wake && options_.asks) wake_.emplace(*options_.wake);
  if (!options_.make_recogniser) return;
  recogniser_.emplace(options_.make_recogniser, options_.sample_rate, clock, *this);
  recogniser_->set_end(options_.end);
  recogniser_->set_on_voice([this](const UserVoice& voice) { hear_voice(voice); });
  recogniser_->set_on_pause([this](const std::string& words) { on_pause(words); });
}

bool Conversation::take_turn_begun(Session& session, TranscriptSource& source) {
  std::stop_token leaves;
  {
    const Lock lock(mutex_);
    leaves = turn_.get_token();
  }
  try {
    const std::optional<TurnResult> result =
        options_.tools ? options_.tools->run_turn(session, source, observer(), leaves)
                       : session.run_turn(source, observer(), leaves);
    if (!result) return false;
    listener_.on_event(Answered{*result, times()});
    if (options_.answers != nullptr && result->metrics.audio_latency &&
        !wait_until_heard(session.speaker(), clock_, leaves)) {
      listener_.on_event(SoundStuck{});
    }
  } catch (const Interrupted&) {
    if (stop_.stop_requested()) throw;
    const std::string heard = session.interrupt();
    listener_.on_event(BrokenOff{heard});
    const bool has_acted = options_.tools && options_.tools->has_acted();  // the history tells
    if (heard.empty() && options_.asks && !has_acted) ask_again();
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
  observer.on_calls = [this](const std::vector<DraftedCall>& calls) {
    listener_.on_event(CallsDrafted{calls});
  };
  if (recogniser_ && end_of_turn().by_words) {
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

bool Conversation::wait_for_work(const std::stop_token& stop) {
  const EngineLock::Release rest(options_.engine_lock);
  Lock lock(mutex_);
  changed_.wait(lock, stop,
                [&]() REQUIRES(mutex_) { return has_changed_ || (!is_blocked_ && !is_empty()); });
  return !stop.stop_requested();
}

std::stop_token Conversation::begin_turn(bool is_stopped) {
  const Lock lock(mutex_);
  if (options_.asks) act(taking_.on_silent(), "");
  if (wake_) wake_->set_answering(clock_.now(), false);
  has_changed_ = is_blocked_ = false;
  if (!is_stopped) turn_ = {};
  begun_ = clock_.now();
  if (stop_.stop_requested()) turn_.request_stop();
  return turn_.get_token();
}

std::optional<Transcript> Conversation::latest(Seconds now) {
  if (options_.typed != nullptr) return options_.typed->latest(now);
  const Lock lock(mutex_);
  return turns_.whole(queue_.latest(now));
}

std::optional<Transcript> Conversation::wait_newer(int64_t revision, Clock& clock) {
  if (options_.typed != nullptr) {
    std::optional<Transcript> newest = options_.typed->wait_newer(revision, clock);
    if (newest) newest->time = std::max(newest->time, begun_);
    return newest;
  }
  std::stop_token stop;
  {
    const Lock lock(mutex_);
    stop = options_.asks ? stop_ : turn_.get_token();
  }
  {
    const EngineLock::Release rest(options_.engine_lock);
    queue_.wait(revision, stop);
  }
  // More may have come while this waited for the engine lock. A final transcript sent after a stop
  // is meant for the next turn: take() checks for the stop first.
  std::optional<Transcript> newest = queue_.take(revision, stop);
  const Lock lock(mutex_);
  newest = turns_.whole(std::move(newest));
  if (!newest || !newest->is_final) return newest;
  turns_.take(*newest);
  sound_.begin();
  if (options_.asks) act(taking_.on_taken(clock_.now()), "");
  if (wake_) wake_->set_answering(clock_.now(), true);
  return newest;
}

bool Conversation::expects_words(Seconds now) {
  if (options_.typed != nullptr) return options_.typed->expects_words(now);
  const Lock lock(mutex_);
  return paused_ && now - *paused_ < kLongestDecode;
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

void Conversation::commit_sound() {
  try {
    recogniser_->commit();
  } catch (const SoundError& error) {
    if (!options_.asks || error.kind() != SoundError::Kind::kTurnTooShort) throw;
    clear_sound();
    listener_.on_event(NothingHeard{});
  }
}

void Conversation::clear_sound() {
  recogniser_->clear();
  const Lock lock(mutex_);
  paused_.reset();
  first_words_.forget(clock_.now());
}

void Conversation::set_end(const EndOfTurn& end) {
  recogniser_->set_end(end);
  const Lock lock(mutex_);
  end_ = end;
}

void Conversation::hear(const std::string& before, const std::string& words) {
  const Lock lock(mutex_);
  turns_.set_before(before);
  push_words(turns_.with_lines(words));
  changed_.notify_all();
}

void Conversation::push_words(const std::string& words) {
  paused_.reset();
  queue_.push(words, /*is_final=*/false);
}

void Conversation::ask(const std::string& text) {
  const Lock lock(mutex_);
  turns_.set_before({});
  is_blocked_ = false;
  commit(text);
}

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
  std::string bare;
  {
    const Lock lock(mutex_);
    bare = turns_.bare(words);
    if (wake_) bare = joined(wake_->skipped(), " ", bare);
  }
  recogniser_->expect_end(bare, probability);
}

void Conversation::act(const TurnActions& actions, const std::string& words) {
  if (actions.sound) sound_.set(*actions.sound);
  if (actions.forgets) queue_.forget_unfinished();
  if (actions.leaves) turn_.request_stop();
  if (actions.commits && !has_ended_) commit(words);
}

void Conversation::commit(const std::string& words) {
  paused_.reset();
  turns_.push(clock_.now());
  queue_.push(words, /*is_final=*/true);
  changed_.notify_all();
}

void Conversation::tell_words(const std::string& words) {
  std::optional<SpeechBegun> begun;
  {
    const Lock lock(mutex_);
    turns_.note_words(clock_.now());
    begun = first_words_.hear(words, clock_.now());
  }
  if (begun) listener_.on_event(*begun);
  listener_.on_event(WordsHeard{words});
}

void Conversation::on_words(const std::string& words) {
  if (!options_.asks) return tell_words(words);
  const Lock lock(mutex_);
  is_speaking_ = true;
  const Seconds now = clock_.now();
  turns_.note_words(now);
  const std::string counts = counted(words);
  if (wake_ && is_blank(counts) && !has_counted_) return;
  has_counted_ = !is_blank(counts);
  act(taking_.on_words(now, counts), "");
  push_words(counts);
}

std::string Conversation::counted(const std::string& words) {
  return wake_ ? wake_->on_words(clock_.now(), words) : words;
}

void Conversation::on_turn(const RecognisedTurn& turn) {
  std::optional<SpeechBegun> begun;
  bool is_turn = true;
  const bool is_empty = turn.was_committed && is_blank(turn.text);
  if (options_.asks && is_empty && !end_of_turn().is_detected) listener_.on_event(NothingHeard{});
  {
    const Lock lock(mutex_);
    has_counted_ = false;
    if (wake_) return end_turn(wake_->on_end(clock_.now(), turn.text));
    if (options_.asks) return end_turn(turn.text, turn.was_committed);
    if (!turn.was_committed) begun = first_words_.hear(turn.text, clock_.now());
    is_turn = turn.was_committed || !first_words_.is_untold();
    first_words_.forget(clock_.now());
  }
  if (begun) listener_.on_event(*begun);
  listener_.on_event(TurnHeard{turn, is_turn});
}

void Conversation::on_lost(const SoundError& why) {
  bool is_new = !options_.asks;
  {
    const Lock lock(mutex_);
    ++num_lost_;
    is_new = std::exchange(lost_, why.what()) != why.what() || is_new;
    first_words_.forget(clock_.now());
    has_counted_ = false;
    if (wake_) wake_->on_end(clock_.now(), "");
    if (options_.asks) end_turn("");
  }
  if (is_new) listener_.on_event(SpeechLost{why.what()});
}

void Conversation::resume_sound() {
  const Lock lock(mutex_);
  start_ = {};
}

void Conversation::end_turn(const std::string& words, bool is_meant) {
  is_speaking_ = false;
  TurnActions actions = taking_.on_end(clock_.now(), words, is_meant);
  // A turn that was not taken yet has it in front already.
  const bool is_owed =
      actions.forgets && turns_.has_again() && turns_.is_empty() && !taking_.is_answering();
  if (is_owed) actions = taking_.on_end(clock_.now(), turns_.again());
  act(actions, is_owed ? "" : words);
}

void Conversation::on_voice(bool is_active, Seconds ended) {
  const Lock lock(mutex_);
  paused_ = is_active ? std::nullopt : std::optional(clock_.now());
  if (!options_.asks) return;
  is_speaking_ = is_speaking_ || is_active;
  if (!is_active) turns_.note_voice_end(ended);
  if (wake_ && !wake_->on_voice(clock_.now(), is_active)) return;
  act(taking_.on_voice(clock_.now(), is_active), "");
}

void Conversation::on_pause(const std::string& words) {
  const Lock lock(mutex_);
  paused_.reset();
  const std::string counts = counted(words);
  if (wake_ && is_blank(counts)) return;
  const std::string all = turns_.with_lines(counts);
  if (all.size() > kMaxTurnBytes) return;
  queue_.push_stable(all);
  changed_.notify_all();
}

void Conversation::look_at_sound() {
  if (taking_.state() != TurnTaking::State::kCommitted || !taking_.is_answering()) return;
  if (sound_.is_heard()) act(taking_.on_sound(clock_.now()), "");
}

void Conversation::tick() {
  bool is_awake = false;
  {
    const Lock lock(mutex_);
    if (options_.asks) tick_locked();
    if (!wake_) return;
    is_awake = has_counted_ || wake_->is_awake(clock_.now());
    if (std::exchange(was_awake_, is_awake) == is_awake) return;
  }
  listener_.on_event(AwakeChanged{is_awake});
}

void Conversation::tick_locked() {
  look_at_sound();
  act(taking_.tick(clock_.now()), "");
  if (turns_.has_again() && taking_.state() == TurnTaking::State::kIdle) end_turn("");
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

}  // namespace predgen
