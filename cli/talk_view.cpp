#include "cli/talk_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <variant>

#include "cli/terminal/display_text.h"
#include "cli/turn_summary.h"
#include "core/log.h"

namespace predgen::cli {
namespace {

/// A turn with only these fields; the others are set where they are known.
Json turn_json(const std::string& heard, const std::string& text) {
  return {{"heard", heard},
          {"text", text},
          {"voice_to_voice", nullptr},
          {"voice_to_voice_ms", nullptr},
          {"parts", nullptr},
          {"transcripts", Json::array()},
          {"voice_ended", nullptr},
          {"first_sentence_kept", false},
          {"interrupted", false},
          {"error", nullptr}};
}

/// `heard`: the turn's transcripts, whose times count from the first one's here.
Json to_json(const TurnResult& result, const std::vector<Transcript>& heard,
             const SpokenTimes& times, const std::optional<VoiceToVoice>& wait) {
  Json turn = turn_json(result.prompt_text, result.text);
  turn["thought"] = result.thought;
  for (const Transcript& transcript : heard) {
    turn["transcripts"].push_back({transcript.text, (transcript.time - heard[0].time).count()});
  }
  if (!heard.empty()) turn["voice_ended"] = (times.voice_ended - heard[0].time).count();
  turn["first_sentence_kept"] = result.metrics.first_sentence_kept;
  if (result.error) turn["error"] = result.error->text;
  if (!wait) return turn;
  if (wait->voice) {
    turn["voice_to_voice"] = wait->total();
    turn["voice_to_voice_ms"] = std::lround(wait->total() * 1e3);
  }
  turn["parts"] = {{"end_of_turn", wait->end_of_turn},
                   {"recogniser", wait->recogniser},
                   {"model", wait->model},
                   {"voice", wait->voice ? Json(*wait->voice) : Json(nullptr)}};
  return turn;
}

Json to_json(const MachineUse& used) {
  return {{"own_seconds", used.own.count()},
          {"helper_seconds", used.helpers.count()},
          {"joules", used.joules ? Json(*used.joules) : Json(nullptr)}};
}

std::string wait_line(const VoiceToVoice& wait, bool is_kept) {
  const auto ms = [](double seconds) { return fmt::format("{:.0f}", seconds * 1e3); };
  std::string line = fmt::format(
      "{} {} ms after your last word: recogniser {}, end of turn {}, "
      "model {}",
      wait.voice ? "sound" : "first sentence", ms(wait.total()), ms(wait.recogniser),
      ms(wait.end_of_turn), ms(wait.model));
  if (wait.voice) line += ", voice " + ms(*wait.voice);
  return is_kept ? line + "; kept from the draft" : line;
}

}  // namespace

std::optional<VoiceToVoice> VoiceToVoice::of(const TurnMetrics& metrics, const SpokenTimes& times) {
  if (!metrics.first_words) return std::nullopt;
  VoiceToVoice wait{.recogniser = (times.words_known - times.voice_ended).count(),
                    .end_of_turn = (times.turn_ended - times.words_known).count(),
                    .model = *metrics.first_words};
  if (metrics.audio_latency) wait.voice = *metrics.audio_latency - *metrics.first_words;
  return wait;
}

TalkView::TalkView(bool is_json, std::FILE* text_output)
    : is_json_(is_json),
      is_terminal_(!is_json && isatty(STDERR_FILENO) != 0),
      text_output_(text_output),
      words_(terminal_columns(fileno(text_output))) {}

void TalkView::on_event(const ConversationEvent& event) {
  std::visit([this](const auto& one) { show(one); }, event);
}

void TalkView::show(const Heard& heard) {
  const Transcript& transcript = heard.transcript;
  heard_ = transcript.text;
  if (is_json_ && transcripts_.empty()) before_ = machine_use();
  if (is_json_) transcripts_.push_back(transcript);
  has_ended_ = false;
  if (!transcript.is_final) return show_heard();
  show_line("");
  draft_.clear();
  if (is_json_) return;
  std::fprintf(text_output_, "> %s\n", transcript.text.c_str());
  std::fflush(text_output_);
}

void TalkView::show(const Drafted& drafted) {
  draft_ = drafted.draft;
  show_heard();
}

void TalkView::show(const CallsDrafted& calling) {
  draft_ = drafted_calls(calling.calls);
  show_heard();
}

void TalkView::show(const Said& said) {
  show_line("");
  if (!is_json_) print(words_.push(said.text));
}

void TalkView::show(const RoundsDropped& dropped) {
  show_line("");
  spdlog::warn("{}", dropped_rounds_message(dropped.num_rounds));
}

void TalkView::show_call(const ToolEvent& event) {
  add_call(calls_, event);
  show_line("");
  say("[" + event_line(event) + "]");
}

void TalkView::print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), text_output_);
  std::fflush(text_output_);
}

void TalkView::say(const std::string& line) {
  if (!is_json_) std::fprintf(stderr, "%s\n", line.c_str());
}

void TalkView::show(const Answered& answered) {
  const auto& [result, times] = answered;
  ++num_turns_;
  num_failed_ += result.error.has_value();
  show_line("");
  has_ended_ = true;
  const std::optional<VoiceToVoice> wait = VoiceToVoice::of(result.metrics, times);
  if (is_json_) {
    turns_.push_back(to_json(result, std::exchange(transcripts_, {}), times, wait));
    turns_.back()["calls"] = std::exchange(calls_, Json::array());
    turns_.back()["used"] = to_json(machine_use().since(before_));
    return;
  }
  print(words_.finish() + "\n");
  if (result.error) {
    spdlog::error("this turn failed and is forgotten: {}", result.error->text);
    return;
  }
  if (!wait) return say("[no answer]");
  say("[" + wait_line(*wait, result.metrics.first_sentence_kept) + "]");
  if (const auto cut = cut_message(result)) say("[" + *cut + "]");
}

void TalkView::show(const SoundStuck&) {
  spdlog::warn("the rest of the answer is not played: is the loudspeaker still there?");
}

void TalkView::show(const SpeechLost& lost) { spdlog::warn("{}", lost.why); }

void TalkView::show(const BrokenOff& broken) {
  const std::string& kept = broken.kept;
  ++num_turns_;
  show_line("");
  if (is_json_ && has_ended_) {
    turns_.back()["text"] = kept;
    turns_.back()["interrupted"] = true;
    return;
  }
  if (is_json_) {
    transcripts_.clear();
    turns_.push_back(turn_json(heard_, kept));
    turns_.back()["calls"] = std::exchange(calls_, Json::array());
    turns_.back()["interrupted"] = true;
    return;
  }
  if (!has_ended_) print(words_.finish() + "\n");
  say("[you broke in; heard of it: " + (kept.empty() ? "nothing" : kept) + "]");
}

void TalkView::finish() {
  show_line("");
  if (!is_json_) return;
  const Json document{{"turns", turns_}};
  std::printf("%s\n", to_text(document).c_str());
}

void TalkView::show_heard() {
  if (is_terminal_) show_line(heard_and_draft(heard_, draft_, line_width()));
}

void TalkView::show_line(const std::string& line) {
  if (!is_terminal_ || (line.empty() && !has_line_)) return;
  std::fprintf(stderr, "\r\033[K\033[2m%s\033[0m", line.c_str());
  std::fflush(stderr);
  has_line_ = !line.empty();
}

}  // namespace predgen::cli
