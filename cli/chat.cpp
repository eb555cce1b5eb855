#include "cli/chat.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/command.h"
#include "cli/loaded_session.h"
#include "cli/terminal/display_text.h"
#include "cli/terminal/raw_terminal.h"
#include "cli/turn_summary.h"
#include "cli/typed_turns.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "hear/transcripts/scheduled_source.h"
#include "hear/transcripts/stdin_source.h"
#include "hear/transcripts/transcript_lines.h"
#include "runtime/converse/conversation.h"
#include "runtime/converse/turn.h"

namespace predgen::cli {
namespace {

constexpr const char* kChatExamples = R"(
At a terminal the answer is drafted while you type, and shown below the line; /help lists the
commands. Lines from a pipe are whole turns. Transcripts of a recogniser are JSON lines
{"text", "time", "revision", "final", "end_of_turn"}, all but "text" optional; every line holds
everything heard so far. They come from a pipe, or from a file whose "time"s are kept. Messages of
Deepgram, AssemblyAI, sherpa-onnx and RTVI are understood as they come, one a line.

Examples:
  predgen chat
  predgen chat --model FILE.gguf --system-prompt "You are Bella, who helps in a bakery."
  predgen chat --tts hibari
  predgen chat --tts espeak --audio-out - | aplay -t raw -f S16_LE -r 22050
  predgen chat --model qwen2.5-1.5b-instruct-q4_k_m --mcp examples/home.json
  my-recogniser | predgen chat --transcripts - --json
)";

struct ChatOptions {
  ConversationOptions conversation;
  std::string transcripts;
  bool json = false;
};

std::unique_ptr<TranscriptSource> make_source(const std::string& transcripts, const Clock& clock,
                                              const std::stop_token& stop) {
  if (transcripts.empty()) {
    return std::make_unique<StdinSource>(STDIN_FILENO, StdinSource::Format::kAuto, clock, stop);
  }
  if (transcripts == "-") {
    return std::make_unique<StdinSource>(STDIN_FILENO, StdinSource::Format::kJsonLines, clock,
                                         stop);
  }
  return std::make_unique<ScheduledSource>(shifted(read_transcript_file(transcripts), clock.now()));
}

void chat(const ChatOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const bool stdout_is_sound = options.conversation.is_stdout_sound();
  if (stdout_is_sound && options.json) {
    throw UserError("--json and --audio-out - both want stdout: use --audio-out FILE.wav");
  }
  options.conversation.check_audio_out(options.transcripts);
  SystemClock clock(stop);
  auto checkpoint = open_checkpoint(options.conversation.model.model);
  const int screen = stdout_is_sound ? STDERR_FILENO : STDOUT_FILENO;
  if (options.transcripts.empty() && !options.json &&
      RawTerminal::is_possible(STDIN_FILENO, screen)) {
    run_typed_turns(options.conversation, std::move(checkpoint), clock, STDIN_FILENO, screen, stop);
    return;
  }
  LoadedSession loaded(options.conversation, std::move(checkpoint), clock, stop);
  ChatView view(options.json ? ChatView::Format::kJson : ChatView::Format::kText,
                options.transcripts.empty(), stdout_is_sound ? stderr : stdout);
  if (ToolRounds* tools = loaded.tools()) {
    tools->set_listener([&view](const ToolEvent& event) { view.show_call(event); });
  }
  const auto source = make_source(options.transcripts, clock, stop);
  Conversation conversation({.asks = false, .tools = loaded.tools(), .typed = source.get()}, view,
                            clock, stop);
  do {
    view.begin_turn();
  } while (conversation.take_turn(loaded.session()));
  loaded.drain();
  view.finish();
  if (view.num_failed() > 0) {
    throw UserError("{} of {} turns failed, see above", view.num_failed(), view.num_turns());
  }
}

}  // namespace

void add_chat(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command =
      app.add_subcommand("chat", "Type to a model, which drafts its answer while you do");
  command->footer(kChatExamples);
  auto options = std::make_shared<ChatOptions>();
  options->conversation.model.model = "smollm2";
  options->conversation.add_to(*command, "--audio-out");
  command->get_option("--model")->required(false)->capture_default_str();
  command->add_option("--transcripts", options->transcripts,
                      "JSON lines of a recogniser: a file, or - for stdin");
  command->add_flag("--json", options->json, "One JSON document on stdout, at the end");
  command->callback([options, stop] { chat(*options, stop); });
}

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
