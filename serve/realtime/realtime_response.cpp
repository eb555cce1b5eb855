#include "serve/realtime/realtime_response.h"

#include <utility>

#include "audio/sample_encoding.h"
#include "serve/new_id.h"

namespace predgen::serve {
namespace {

ResponseInfo with_id(ResponseInfo info) {
  info.id = new_id("resp_");
  return info;
}

}  // namespace

RealtimeResponse::RealtimeResponse(ConversationListener& listener, ResponseInfo info)
    : listener_(listener),
      info_(with_id(std::move(info))),
      item_{.id = new_id("item_"), .role = "assistant", .text = ""} {
  listener_.on_event(ResponseBegun{info_});
}

void RealtimeResponse::begin_message() {
  has_item_ = true;
  listener_.on_event(MessageBegun{info_, item_});
}

void RealtimeResponse::add_text(const std::string& text) {
  const Lock lock(mutex_);
  if (!has_item_) begin_message();
  item_.text += text;
  listener_.on_event(TextAdded{info_, item_.id, text});
}

void RealtimeResponse::add_sound(std::span<const float> samples, Seconds now) {
  const std::vector<int16_t> pcm = to_pcm16(samples);
  const Lock lock(mutex_);
  if (item_.num_samples == 0) sound_begin_ = now;
  item_.num_samples += std::ssize(pcm);
  listener_.on_event(SoundAdded{info_, item_.id, pcm});
}

std::vector<ConversationItem> RealtimeResponse::finish(const ResponseEnd& end) {
  const Lock lock(mutex_);
  const bool is_whole = end.status == ResponseStatus::kCompleted;
  // What the server's tools did must have a place.
  if (!has_item_ && end.calls.empty() && (is_whole || !end.rounds.empty())) begin_message();
  std::vector<ConversationItem> items;
  if (has_item_) {
    item_.status = is_whole ? "completed" : "incomplete";
    listener_.on_event(MessageDone{info_, item_});
    items.push_back(item_);
  }
  for (const ToolCall& call : end.calls) {
    ConversationItem item{.id = new_id("item_"), .role = "assistant", .text = "", .call = call};
    listener_.on_event(
        CallMade{info_, item, items.size(), items.empty() ? info_.previous : items.back().id});
    items.push_back(std::move(item));
  }
  listener_.on_event(ResponseDone{info_, end, items});
  if (!items.empty()) items.front().rounds = end.rounds;
  return items;
}

Seconds RealtimeResponse::heard_until() const {
  const Lock lock(mutex_);
  return sound_begin_ + Seconds(static_cast<double>(item_.num_samples) / kRealtimeRate);
}

ConversationItem RealtimeResponse::item() const {
  const Lock lock(mutex_);
  return item_;
}

}  // namespace predgen::serve
