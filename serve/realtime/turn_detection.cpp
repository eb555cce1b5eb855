#include "serve/realtime/turn_detection.h"

namespace predgen::serve {
namespace {

constexpr int64_t kMaxSilence = 60'000;  // ms

bool flag_or(RequestFields& fields, const char* name, bool otherwise) {
  return fields.any(name).is_null() ? otherwise : fields.flag(name);
}

}  // namespace

Json TurnDetection::json() const {
  if (!end.is_detected) return nullptr;
  return {{"type", "server_vad"},
          {"silence_duration_ms", end.silence_ms},
          {"create_response", creates_response},
          {"interrupt_response", interrupts_response},
          {"idle_timeout_ms", nullptr}};
}

TurnDetection read_turn_detection(RequestFields& session, const std::string& name,
                                  const TurnDetection& before) {
  if (session.is_null(name)) return {};
  if (session.any(name).is_null()) return before;
  RequestFields fields = session.object(name);
  fields.expect_neutral("type", {"server_vad"});
  fields.expect_neutral("threshold", {0.5});
  fields.expect_neutral("idle_timeout_ms", {});
  fields.ignore("prefix_padding_ms");  // the recogniser gets all of the sound
  TurnDetection detection{.end = {.is_detected = true}};
  detection.end.silence_ms =
      fields.integer("silence_duration_ms", 0, kMaxSilence).value_or(detection.end.silence_ms);
  detection.creates_response = flag_or(fields, "create_response", true);
  detection.interrupts_response = flag_or(fields, "interrupt_response", true);
  fields.finish();
  return detection;
}

}  // namespace predgen::serve
