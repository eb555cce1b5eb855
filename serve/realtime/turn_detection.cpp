#include "serve/realtime/turn_detection.h"

#include <map>

namespace predgen::serve {
namespace {

constexpr int64_t kMaxSilence = 60'000;  // ms

/// By the API's names for eagerness; OpenAI has "auto" as "medium".
const std::map<std::string, EndWaits>& semantic_waits() {
  static const std::map<std::string, EndWaits> waits{
      {"low", {.shortest_ms = 400, .longest_ms = 2400}},
      {"medium", {}},
      {"high", {.shortest_ms = 100, .longest_ms = 800}}};
  return waits;
}

EndWaits waits_of(const std::string& eagerness, const EndWaits& automatic,
                  const std::string& field) {
  if (eagerness == "auto") return automatic;
  const auto waits = semantic_waits().find(eagerness);
  if (waits == semantic_waits().end()) {
    RequestFields::fail_value(field, "must be low, medium, high or auto");
  }
  return waits->second;
}

bool flag_or(RequestFields& fields, const char* name, bool otherwise) {
  return fields.any(name).is_null() ? otherwise : fields.flag(name);
}

}  // namespace

Json TurnDetection::json() const {
  if (!end.is_detected) return nullptr;
  Json json{{"create_response", creates_response}, {"interrupt_response", interrupts_response}};
  if (end.waits) {
    json["type"] = "semantic_vad";
    json["eagerness"] = eagerness;
  } else {
    json["type"] = "server_vad";
    json["silence_duration_ms"] = end.silence_ms;
    json["idle_timeout_ms"] = nullptr;
  }
  return json;
}

TurnDetection read_turn_detection(RequestFields& session, const std::string& name,
                                  const TurnDetection& before, const EndWaits& waits) {
  if (session.is_null(name)) return {};
  if (session.any(name).is_null()) return before;
  RequestFields fields = session.object(name);
  const std::string type = fields.text("type").value_or("server_vad");
  TurnDetection detection{.end = {.is_detected = true}};
  if (type == "semantic_vad") {
    detection.eagerness = fields.text("eagerness").value_or("auto");
    detection.end.waits = waits_of(detection.eagerness, waits, fields.full_name("eagerness"));
    detection.end.by_words = true;
  } else if (type == "server_vad") {
    fields.expect_neutral("threshold", {0.5});
    fields.expect_neutral("idle_timeout_ms", {});
    fields.ignore("prefix_padding_ms");  // the recogniser gets all of the sound
    detection.end.silence_ms =
        fields.integer("silence_duration_ms", 0, kMaxSilence).value_or(detection.end.silence_ms);
  } else {
    RequestFields::fail_unsupported(fields.full_name("type"),
                                    "must be server_vad, semantic_vad, or null instead of both");
  }
  detection.creates_response = flag_or(fields, "create_response", true);
  detection.interrupts_response = flag_or(fields, "interrupt_response", true);
  fields.finish();
  return detection;
}

}  // namespace predgen::serve
