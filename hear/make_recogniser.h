#pragma once

#include <string>

#include "core/setting.h"
#include "hear/ears_process.h"
#include "hear/recogniser.h"
#include "hear/turn_taking.h"

namespace predgen {

/// Makes clients of the server at this WebSocket; empty if `url` is. UserError for an invalid
/// url.
MakeRecogniser recognisers_at(const std::string& url);

/// Starts the program predgen-ears, which all recognisers made here share, and waits until its
/// models are loaded. The program ends with the last copy of the returned function and its last
/// recogniser. UserError if it does not start or rejects its models.
MakeRecogniser recognisers_here(const EarsOptions& options);

/// Whether `name` is one of recognisers_named() on another server.
bool is_recogniser_url(const std::string& name);

/// "base" and "tiny" (Whisper's, of scripts/fetch_model.py), "moonshine", "base+moonshine"
/// (Moonshine while the user speaks, Whisper for pauses and ends), the folder of a model for
/// predgen-ears, or the ws:// address of a server; empty: an empty function. `language`: the
/// language spoken, for Whisper base. UserError as above, and for missing models.
MakeRecogniser recognisers_named(const std::string& name, const std::string& language = "en");

/// The language that such a recogniser hears, if made for `language`; empty: unknown.
std::string language_heard(const std::string& name, const std::string& language = "en");

/// What hears, and how long a user may pause.
struct HearingOptions {
  std::string recogniser = "base", language = "en";
  double shortest_wait = 0.2, longest_wait = 1.2;  // seconds

  EndWaits waits() const;
};

Settings settings_of(HearingOptions& options);

}  // namespace predgen
