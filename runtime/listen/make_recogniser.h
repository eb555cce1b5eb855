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

}  // namespace predgen
