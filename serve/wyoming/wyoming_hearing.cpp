#include "serve/wyoming/wyoming_hearing.h"

#include <utility>

#include "audio/wav_stream.h"
#include "core/error.h"
#include "serve/wyoming/wyoming_host.h"

namespace predgen::serve {
namespace {

constexpr int kLowestRate = 8000, kHighestRate = 48000;

int number_of(const Json& format, const char* key) {
  return json_get<int>(format, key, "audio-start");
}

}  // namespace

WyomingHearing::WyomingHearing(const WyomingHost& host, WyomingSender& sender, std::string peer,
                               std::function<void()> on_heard)
    : host_(host), sender_(sender), peer_(std::move(peer)), on_heard_(std::move(on_heard)) {}

WyomingHearing::~WyomingHearing() {
  recogniser_.reset();
  host_.conversations.forget(give_up());
}

void WyomingHearing::begin(const Json& format) {
  const int rate = number_of(format, "rate"), width = number_of(format, "width");
  channels_ = number_of(format, "channels");
  if (width != 2 || channels_ < 1 || channels_ > 2 || rate < kLowestRate || rate > kHighestRate) {
    throw UserError("audio-start: sound must have 16 bits, 1 or 2 channels and {} to {} Hz",
                    kLowestRate, kHighestRate);
  }
  if (!recogniser_ || rate != rate_) {
    RecognisedTurnHandler& self = *this;
    recogniser_.emplace(host_.make_recogniser, rate, host_.clock, self);
  } else {
    recogniser_->clear();
  }
  rate_ = rate;
  has_begun_ = true;
  host_.conversations.forget(give_up());
  auto conversation = host_.conversations.listen(peer_);
  const Lock lock(mutex_);
  conversation_ = std::move(conversation);
}

void WyomingHearing::add(const std::string& pcm) {
  if (!has_begun_) throw UserError("audio-chunk: audio-start is missing");
  const WavStream sound{.sample_rate = rate_, .num_channels = static_cast<size_t>(channels_)};
  try {
    recogniser_->add(sound.mono(pcm));
  } catch (const SoundError& error) {
    throw UserError("{}", error.what());
  }
}

void WyomingHearing::end() {
  if (!std::exchange(has_begun_, false)) throw UserError("audio-stop: audio-start is missing");
  try {
    recogniser_->commit();
  } catch (const SoundError& error) {
    if (error.kind() != SoundError::Kind::kTurnTooShort) throw UserError("{}", error.what());
    on_turn({});  // in so little there are no words
  }
}

void WyomingHearing::on_words(const std::string& words) {
  const Lock lock(mutex_);
  if (conversation_) host_.conversations.hear(conversation_, words);
}

void WyomingHearing::on_turn(const RecognisedTurn& turn) {
  on_words(turn.text);
  if (const auto conversation = give_up()) {
    if (turn.text.empty()) {
      host_.conversations.forget(conversation);
    } else {
      host_.conversations.expect(conversation, turn.text);
    }
  }
  tell(turn.text);
}

void WyomingHearing::on_lost(const SoundError& why) {
  host_.conversations.forget(give_up());
  sender_.send(error_event(why.what(), "recogniser_failed"));
  sender_.close();
}

std::shared_ptr<WyomingConversation> WyomingHearing::give_up() {
  const Lock lock(mutex_);
  return std::exchange(conversation_, nullptr);
}

void WyomingHearing::tell(const std::string& text) {
  sender_.send(
      {.type = "transcript", .data = {{"text", text}, {"language", host_.offer.language}}});
  on_heard_();
}

}  // namespace predgen::serve
