#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/setting.h"

namespace predgen {

/// When calls of tools run in a conversation.
struct ToolRoundOptions {
  int64_t max_rounds = 4;  // of calls in a turn, each followed by more of the answer
  std::string filler{};    // said while the user waits for a tool; empty: nothing
  Seconds filler_after{0.7};
  double act_within = 10;  // seconds after the user's last word; later calls with effects ask first
  // While the user speaks, of tools that only read:
  int64_t early_calls = 3;    // that may begin in a turn; 0: none
  int64_t early_stable = 1;   // later transcripts, or pauses, that must have kept a call
  double early_seconds = 10;  // that they may take, all of a turn together
  double early_age = 30;      // since a call began, in seconds, for which its result stands
};

Settings settings_of(ToolRoundOptions& options);

}  // namespace predgen
