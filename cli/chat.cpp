#include <c10/core/InferenceMode.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "cli/chat_view.h"
#include "cli/command.h"
#include "cli/loaded_session.h"
#include "cli/terminal/raw_terminal.h"
#include "cli/typed_turns.h"
#include "core/clock.h"
#include "core/error.h"
#include "hear/transcripts/recorded_source.h"
#include "hear/transcripts/scheduled_source.h"
#include "hear/transcripts/stdin_source.h"
#include "hear/transcripts/transcript_lines.h"
#include "runtime/converse/conversation.h"

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

}  // namespace predgen::cli
