#include "serve/wyoming/wyoming_hearing.h"

#include <utility>

#include "core/error.h"
#include "serve/wyoming/wyoming_host.h"

namespace predgen::serve {
WyomingHearing::WyomingHearing(const WyomingHost& host, WyomingSender& sender, std::string peer,
                               std::function<void()> on_heard)
    : host_(host),
      sender_(sender),
      peer_(std::move(peer)),
      on_heard_(std::move(on_heard)),
      recogniser_(host.make_recogniser, kRecogniserRate, host.clock, *this) {}

WyomingHearing::~WyomingHearing() { forget_all(); }

void WyomingHearing::begin(const Json& format) {
  sound_.begin(format, "audio-start");
  if (has_begun_) recogniser_.clear();
  int64_t dropped = 0;
  {
    const Lock lock(mutex_);
    if (has_begun_ && !due_.empty()) {
      dropped = due_.back();
      due_.pop_back();
    }
  }
  host_.conversations.forget(dropped);
  const int64_t turn = host_.conversations.listen(peer_);
  has_begun_ = true;
  const Lock lock(mutex_);
  due_.push_back(turn);
}

void WyomingHearing::add(const std::string& pcm) {
  if (!has_begun_) throw UserError("audio-chunk: audio-start is missing");
  pass_on(sound_.add(pcm));
}

void WyomingHearing::end() {
  if (!std::exchange(has_begun_, false)) throw UserError("audio-stop: audio-start is missing");
  pass_on(sound_.finish());
  try {
    try {
      recogniser_.commit();
    } catch (const SoundError& error) {
      if (error.kind() != SoundError::Kind::kTurnTooShort) throw;
      recogniser_.add(std::vector<float>(kRecogniserRate / 10));  // it is heard for no words
      recogniser_.commit();
    }
  } catch (const SoundError& error) {
    throw UserError("{}", error.what());
  }
}

void WyomingHearing::on_words(const std::string& words) {
  int64_t turn = 0;
  {
    const Lock lock(mutex_);
    if (!due_.empty()) turn = due_.front();
  }
  host_.conversations.hear(turn, words);
}

void WyomingHearing::on_turn(const RecognisedTurn& turn) {
  on_words(turn.text);
  const int64_t due = take_due();
  if (turn.text.empty()) {
    host_.conversations.forget(due);
  } else {
    host_.conversations.expect(due, turn.text);
  }
  sender_.send(
      {.type = "transcript", .data = {{"text", turn.text}, {"language", host_.offer.language}}});
  on_heard_();
}

void WyomingHearing::on_lost(const SoundError& why) {
  forget_all();
  sender_.send(error_event(why.what(), "recogniser_failed"));
  sender_.close();
}

void WyomingHearing::pass_on(const std::vector<float>& samples) {
  try {
    recogniser_.add(samples);
  } catch (const SoundError& error) {
    throw UserError("{}", error.what());
  }
}

int64_t WyomingHearing::take_due() {
  const Lock lock(mutex_);
  if (due_.empty()) return 0;
  const int64_t turn = due_.front();
  due_.pop_front();
  return turn;
}

void WyomingHearing::forget_all() {
  std::deque<int64_t> due;
  {
    const Lock lock(mutex_);
    due.swap(due_);
  }
  for (const int64_t turn : due) host_.conversations.forget(turn);
}

}  // namespace predgen::serve
