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

void read_flag(RequestFields& fields, const char* name, bool& into) {
  if (!fields.any(name).is_null()) into = fields.flag(name);
}

void read_eagerness(RequestFields& fields, const EndWaits& automatic, TurnDetection& into) {
  const std::string eagerness = fields.text("eagerness").value_or("auto");
  into.end.waits = waits_of(eagerness, automatic, fields.full_name("eagerness"));
  into.eagerness = eagerness;
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
                                  const TurnDetection& before, const EndWaits& waits,
                                  Refusals& refusals) {
  if (session.is_null(name) || session.any(name) == false) return {};
  if (session.any(name).is_null()) return before;
  RequestFields fields = session.object(name);
  const std::string type = fields.text("type").value_or("server_vad");
  TurnDetection detection{.end = {.is_detected = true}};
  if (type == "semantic_vad") {
    detection.end.waits = waits;
    detection.end.by_words = true;
    refusals.attempt([&] { read_eagerness(fields, waits, detection); });
  } else if (type == "server_vad") {
    refusals.attempt([&] {  // of loudness, which is not measured
      fields.expect_neutral("threshold", {0.5});
    });
    refusals.attempt([&] { fields.expect_neutral("idle_timeout_ms", {}); });
    fields.ignore("prefix_padding_ms");  // the recogniser gets all of the sound
    refusals.attempt([&] {
      const auto silence = fields.integer("silence_duration_ms", 0, kMaxSilence);
      detection.end.silence_ms = silence.value_or(detection.end.silence_ms);
    });
  } else {
    RequestFields::fail_unsupported(fields.full_name("type"),
                                    "must be server_vad, semantic_vad, or null instead of both");
  }
  refusals.attempt([&] { read_flag(fields, "create_response", detection.creates_response); });
  refusals.attempt([&] { read_flag(fields, "interrupt_response", detection.interrupts_response); });
  refusals.note_unknown(fields);
  return detection;
}

}  // namespace predgen::serve
