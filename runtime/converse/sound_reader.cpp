#include "runtime/converse/sound_reader.h"

#include <exception>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/stop.h"

namespace predgen {
namespace {

constexpr Seconds kBlock{0.02};
/// Silence after the sound, beyond the longest wait: a recogniser needs time for its last words.
constexpr Seconds kGrace{2.0}, kLate{15.0};

}  // namespace

SoundReader::SoundReader(AudioSource& audio, Conversation& conversation, Clock& clock,
                         const std::stop_token& stop, std::function<bool()> is_held)
    : audio_(audio),
      conversation_(conversation),
      clock_(clock),
      stop_(stop),
      is_held_(std::move(is_held)),
      thread_([this](const std::stop_token& destroyed) {
        std::exception_ptr failure;
        try {
          try {
            read(destroyed);
          } catch (const UserError&) {  // a microphone that is gone
            failure = std::current_exception();
          }
          end_sound(destroyed);
        } catch (...) {
          failure = std::current_exception();
        }
        conversation_.end(std::move(failure));
      }) {}

void SoundReader::read(const std::stop_token& destroyed) {
  while (true) {
    const std::span<const float> block = audio_.read();
    throw_if_stopped(destroyed);
    if (block.empty()) return;
    const bool is_held = !is_held_ || is_held_();
    if (is_held) {
      if (is_held_ && !was_held_) conversation_.resume_sound();
      add(block);
    } else {
      if (was_held_) commit();
      conversation_.tick();
    }
    was_held_ = is_held;
  }
}

void SoundReader::add(std::span<const float> block) {
  try {
    conversation_.add_sound(block);
  } catch (const SoundError& error) {
    if (!is_held_ || error.kind() != SoundError::Kind::kTurnTooLong) throw;
    commit();  // what was said so far is a turn
    conversation_.add_sound(block);
  }
}

void SoundReader::commit() {
  try {
    conversation_.commit_sound();
  } catch (const SoundError&) {  // too little of it
    conversation_.clear_sound();
  }
}

void SoundReader::end_sound(const std::stop_token& destroyed) {
  const int sample_rate = audio_.sample_rate();
  const auto block = static_cast<size_t>(kBlock.count() * sample_rate);
  AudioPace pace(sample_rate, clock_);
  const EndOfTurn end = conversation_.end_of_turn();
  const int64_t wait_ms = end.waits ? end.waits->longest_ms : end.silence_ms;
  const Seconds longest = Seconds(static_cast<double>(wait_ms) / 1000) + kGrace;
  bool was_committed = is_held_ && was_held_;
  if (was_committed) commit();
  for (Seconds added{0}; added < longest + kLate; added += kBlock) {
    pace.wait_for(block);
    throw_if_stopped(destroyed);
    throw_if_stopped(stop_);
    if (added < longest) {
      conversation_.add_silence(block);
    } else if (conversation_.is_speaking()) {
      if (!std::exchange(was_committed, true)) conversation_.commit_sound();
    } else if (!conversation_.is_left()) {
      return;
    }
    conversation_.tick();
    if (conversation_.is_over()) return;
  }
}

}  // namespace predgen
