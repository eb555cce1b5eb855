#include "hear/hearing_options.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "hear/make_recogniser.h"
#include "hear/web_socket_url.h"

namespace predgen {
namespace {

std::string address_problem(const std::string& recogniser) {
  try {
    if (is_recogniser_url(recogniser)) parse_web_socket_url(recogniser);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

EndWaits HearingOptions::waits() const {
  return {.shortest_ms = std::llround(shortest_wait * 1e3),
          .longest_ms = std::llround(longest_wait * 1e3)};
}

Settings settings_of(HearingOptions& options) {
  return {Setting("recogniser", options.recogniser,
                  "base or tiny (Whisper's), moonshine, base+moonshine (both), the folder of a "
                  "streaming sherpa-onnx model, the ws:// address of a sherpa-onnx server, or for "
                  "serve none, or auto: base if it is there")
              .checked([&options] { return address_problem(options.recogniser); }),
          {"language", options.language, "the language that is spoken; tiny has English only"},
          Setting("shortest_wait", options.shortest_wait, between(0.05, 10),
                  "seconds of pause that end a turn which sounds over")
              .checked([&options] {
                return options.shortest_wait <= options.longest_wait
                           ? std::string()
                           : fmt::format("{} is longer than longest_wait, {}",
                                         options.shortest_wait, options.longest_wait);
              }),
          {"longest_wait", options.longest_wait, between(0.05, 10),
           "seconds of pause that end one which does not"}};
}

}  // namespace predgen
