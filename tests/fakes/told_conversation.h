#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/converse/conversation_events.h"

namespace predgen {

/// Keeps a line for each event, but for those of drafts. Used by one thread at a time.
struct ToldConversation : ConversationListener {
  void on_event(const ConversationEvent& event) override {
    if (const auto* heard = std::get_if<Heard>(&event)) {
      lines.push_back((heard->transcript.is_final ? "final: " : "heard: ") +
                      heard->transcript.text);
    } else if (const auto* said = std::get_if<Said>(&event)) {
      lines.push_back("said: " + said->text);
    } else if (const auto* answered = std::get_if<Answered>(&event)) {
      lines.push_back("answered: " + answered->result.text);
      times = answered->times;
    } else if (std::holds_alternative<SoundStuck>(event)) {
      lines.emplace_back("stuck");
    } else if (const auto* broken = std::get_if<BrokenOff>(&event)) {
      lines.push_back("broken off: " + broken->kept);
      if (on_broken_off) on_broken_off();
    } else if (const auto* lost = std::get_if<SpeechLost>(&event)) {
      lines.push_back("lost: " + lost->why);
    } else if (std::holds_alternative<NothingHeard>(event)) {
      lines.emplace_back("nothing heard");
    } else if (const auto* changed = std::get_if<AwakeChanged>(&event)) {
      lines.emplace_back(changed->is_awake ? "awake" : "asleep");
    }
  }

  std::vector<std::string> lines;
  SpokenTimes times;
  std::function<void()> on_broken_off;
};

}  // namespace predgen
