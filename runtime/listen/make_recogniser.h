#pragma once

#include <string>

#include "runtime/listen/ears_options.h"
#include "runtime/listen/recogniser.h"

namespace predgen {

/// Makes clients of the server at this WebSocket; `url` empty: nothing. UserError for a url that is
/// none.
MakeRecogniser recognisers_at(const std::string& url);

/// Starts the program predgen-ears, which all that this makes share, and waits until its models are
/// loaded. The program ends with the last copy of what is returned and the last recogniser of it.
/// UserError if it does not start, or does not like its models.
MakeRecogniser recognisers_here(const EarsOptions& options);

/// Whether `name` is one of recognisers_named() on another server.
bool is_recogniser_url(const std::string& name);

/// "base" and "tiny" (Whisper's, of scripts/fetch_model.py), the folder of a model for
/// predgen-ears, or the ws:// address of a server; empty: nothing. `language`: that is spoken, for
/// Whisper base. UserError as the others, and for models that are not there.
MakeRecogniser recognisers_named(const std::string& name, const std::string& language = "en");

/// What such a recogniser hears, if it was made for `language`; empty: nobody knows.
std::string language_heard(const std::string& name, const std::string& language = "en");

}  // namespace predgen
