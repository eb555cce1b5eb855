#include "cli/chat_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <variant>

#include "cli/call_json.h"
#include "cli/terminal/last_line.h"
#include "cli/turn_summary.h"
#include "core/log.h"
#include "runtime/converse/turn_json.h"

namespace predgen::cli {
namespace {

Json to_json(const TurnResult& result) {
  Json turn{{"prompt", result.prompt_text},
            {"thought", result.thought},
            {"text", result.text},
            {"dropped_rounds", result.dropped_rounds},
            {"first_sentence", result.first_sentence},
            {"token_ids", result.answer},
            {"stop_reason", result.error ? Json(nullptr) : Json(to_string(result.stop_reason))}};
  turn.update(metrics_json(result.metrics));
  turn["error"] = result.error ? Json(result.error->text) : Json(nullptr);
  return turn;
}

}  // namespace

ChatView::ChatView(Format format, bool typed, std::FILE* text_output)
    : format_(format),
      prompt_mark_(typed && format == Format::kText && isatty(STDIN_FILENO)),
      draft_pane_(format == Format::kText && isatty(STDERR_FILENO)),
      text_output_(text_output),
      words_(terminal_columns(fileno(text_output))) {}

void ChatView::on_event(const ConversationEvent& event) {
  if (const auto* drafted = std::get_if<Drafted>(&event)) {
    show_draft(drafted->draft);
  } else if (const auto* calling = std::get_if<CallsDrafted>(&event)) {
    show_draft(drafted_calls(calling->calls));
  } else if (const auto* said = std::get_if<Said>(&event)) {
    clear_draft();
    if (format_ != Format::kJson) print(words_.push(said->text));
  } else if (const auto* dropped = std::get_if<RoundsDropped>(&event)) {
    clear_draft();
    spdlog::warn("{}", dropped_rounds_message(dropped->num_rounds));
  } else if (const auto* answered = std::get_if<Answered>(&event)) {
    end_turn(answered->result);
  }
}

void ChatView::show_call(const ToolEvent& event) {
  add_call(calls_, event);
  clear_draft();
  if (format_ == Format::kText) std::fprintf(stderr, "[%s]\n", event_line(event).c_str());
}

void ChatView::print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), text_output_);
  std::fflush(text_output_);
}

void ChatView::begin_turn() {
  if (!prompt_mark_) return;
  std::fputs("> ", stderr);
  std::fflush(stderr);
}

void ChatView::end_turn(const TurnResult& result) {
  clear_draft();
  ++num_turns_;
  num_failed_ += result.error ? 1 : 0;
  if (format_ == Format::kJson) {
    turns_.push_back(to_json(result));
    turns_.back()["calls"] = std::exchange(calls_, Json::array());
    return;
  }
  print(words_.finish() + (!result.error || !result.text.empty() ? "\n" : ""));
  if (result.error) {
    spdlog::error("this turn failed and is forgotten: {}", result.error->text);
    return;
  }
  std::fprintf(stderr, "[%s]\n", turn_summary(result.metrics).c_str());
  if (const auto cut = cut_message(result)) std::fprintf(stderr, "[%s]\n", cut->c_str());
}

void ChatView::finish() {
  if (prompt_mark_) std::fputs("\n", stderr);
  if (format_ != Format::kJson) return;
  std::printf("%s\n", to_text({{"turns", turns_}}).c_str());
}

void ChatView::show_draft(const std::string& draft) {
  if (!draft_pane_) return;
  std::fprintf(stderr, "\r\033[K\033[2m~ %s\033[0m", last_line(draft).c_str());
  std::fflush(stderr);
  draft_shown_ = true;
}

void ChatView::clear_draft() {
  if (!draft_shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  draft_shown_ = false;
}

}  // namespace predgen::cli
