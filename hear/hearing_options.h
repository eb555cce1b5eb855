#pragma once

#include <string>

#include "core/setting.h"
#include "hear/end_of_turn.h"

namespace predgen {

/// What hears, and how long a user may pause.
struct HearingOptions {
  std::string recogniser = "base", language = "en";
  double shortest_wait = 0.2, longest_wait = 1.2;  // seconds

  EndWaits waits() const;
};

Settings settings_of(HearingOptions& options);

}  // namespace predgen
