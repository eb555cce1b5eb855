#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "audio/echo/echo_cancelling_source.h"
#include "audio/make_audio_source.h"
#include "cli/command.h"
#include "cli/loaded_session.h"
#include "cli/setting_flags.h"
#include "cli/talk_view.h"
#include "core/error.h"
#include "core/stop.h"
#include "hear/make_recogniser.h"
#include "hear/wake.h"
#include "runtime/converse/conversation.h"
#include "runtime/converse/sound_reader.h"

namespace predgen::cli {
namespace {

/// Push to talk on a terminal: Enter begins a turn and ends it. Any thread may ask.
class EnterKey {
 public:
  /// Reads lines from the file descriptor in a thread of its own, which calls `on_change`.
  EnterKey(int fd, std::function<void(bool is_on)> on_change);

  bool is_on() const { return is_on_; }

 private:
  std::atomic<bool> is_on_ = false;
  std::jthread reader_;  // last: it uses the other
};

EnterKey::EnterKey(int fd, std::function<void(bool is_on)> on_change)
    : reader_([this, fd, change = std::move(on_change)](const std::stop_token& destroyed) {
        try {
          const StoppablePoll poll(destroyed);
          while (true) {
            poll.wait(fd, POLLIN);
            char byte = 0;
            const ssize_t count = read(fd, &byte, 1);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) break;
            if (byte != '\n') continue;
            is_on_ = !is_on_;
            change(is_on_);
          }
        } catch (const std::exception&) {  // Interrupted, or the terminal is gone
        }
        if (is_on_.exchange(false)) change(false);
      }) {}

constexpr EndWaits kEagerWaits = {.shortest_ms = 100, .longest_ms = 600};

constexpr const char* kTalkExamples = R"(
Speak; the answer is drafted meanwhile and begins when your turn is over. How long a pause ends it
depends on how final it sounds (--shortest-wait to --longest-wait). Your words end an answer. The
loudspeaker's echo is taken out of what the microphone hears, once it has been learnt in the first
seconds of the first answer; with --headphones there is none. With --wake, only what follows the
phrase is answered, and what you say over an answer or soon after it. Ctrl-C leaves.

A sound file is heard as fast as it was spoken, one turn or several.

Examples:
  predgen talk
  predgen talk --headphones --recogniser tiny
  predgen talk --recogniser base+moonshine --wake "hey jarvis"
  predgen talk --input question.wav --output answer.wav
  predgen talk --model qwen2.5-1.5b-instruct-q4_k_m --mcp examples/home.json --tool-filler "One moment."
  arecord -q -t raw -f S16_LE -r 16000 | predgen talk --input - --headphones
)";

struct TalkOptions {
  ConversationOptions conversation;
  HearingOptions hearing;
  std::string input = "mic", record, end_by = "sound+words";
  int64_t input_rate = 16000;
  std::string wake;
  double follow_up = 8;  // seconds
  bool is_eager = false, has_headphones = false, json = false, pushes_to_talk = false;

  std::optional<WakeRules> wake_rules() const {
    if (wake.empty()) return std::nullopt;
    return WakeRules{.phrase = wake, .follow_up = Seconds(follow_up)};
  }
};

EndOfTurn make_end_of_turn(const TalkOptions& options) {
  const HearingOptions& hearing = options.hearing;
  if (hearing.shortest_wait > hearing.longest_wait) {
    throw UserError("--shortest-wait {} is longer than --longest-wait {}", hearing.shortest_wait,
                    hearing.longest_wait);
  }
  const EndWaits waits = options.is_eager ? kEagerWaits : hearing.waits();
  return {.is_detected = !options.pushes_to_talk,
          .silence_ms = (waits.shortest_ms + waits.longest_ms) / 2,
          .waits = waits,
          .by_sound = options.end_by.starts_with("sound"),
          // Told by the pass that verifies a draft.
          .by_words = options.end_by.ends_with("words") &&
                      options.conversation.session.verifier != "off" &&
                      !options.conversation.session.preempts};
}

void talk(const TalkOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  if (options.conversation.is_stdout_sound() && options.json) {
    throw UserError("--json and --output - both want stdout: use --output FILE.wav");
  }
  if (options.hearing.recogniser.empty()) {
    throw UserError("--recogniser is empty: give base, tiny, moonshine, a folder or an address");
  }
  if (options.pushes_to_talk && !is_microphone(options.input)) {
    throw UserError("--push-to-talk needs a microphone, not --input {}", options.input);
  }
  if (options.pushes_to_talk && isatty(STDIN_FILENO) == 0) {
    throw UserError("--push-to-talk reads Enter from stdin, which is no terminal");
  }
  options.conversation.check_audio_out(options.input);
  if (!options.wake.empty()) WakePhrase{options.wake};  // is checked before anything is loaded
  const bool has_microphone = is_microphone(options.input);
  const EndOfTurn end = make_end_of_turn(options);
  SystemClock clock(stop);
  // What is missing is said before a model is loaded, and nothing is heard before all are.
  if (options.input != "-")
    make_audio_source(options.input, static_cast<int>(options.input_rate), clock, stop);
  std::filesystem::path recording;
  if (!options.record.empty()) recording = next_recording(options.record);
  const MakeRecogniser make_recogniser =
      recognisers_named(options.hearing.recogniser, options.hearing.language);
  PlayedSound played;
  LoadedSession loaded(options.conversation, open_checkpoint(options.conversation.model.model),
                       clock, stop, &played, end.by_words);
  Session& session = loaded.session();
  std::unique_ptr<AudioSource> audio =
      make_audio_source(options.input, static_cast<int>(options.input_rate), clock, stop);
  auto while_speaking = WhileSpeaking::kInterrupts;
  // Standard input may be a microphone of another program, and standard output its loudspeaker.
  const bool hears_room = (has_microphone || options.input == "-") && !options.has_headphones;
  if (hears_room && has_echo_canceller() && played.sample_rate() > 0) {
    audio = std::make_unique<EchoCancellingSource>(std::move(audio), played);
  } else if (hears_room && (played.sample_rate() > 0 || options.conversation.is_stdout_sound())) {
    while_speaking = WhileSpeaking::kNotHeard;
  }
  if (!recording.empty()) {
    audio = std::make_unique<RecordingSource>(std::move(audio), recording);
  }
  TalkView view(options.json, options.conversation.is_stdout_sound() ? stderr : stdout);
  if (ToolRounds* tools = loaded.tools()) {
    tools->set_listener([&view](const ToolEvent& event) { view.show_call(event); });
  }
  if (has_microphone) {
    view.say(options.wake.empty()
                 ? "listening; ~ marks a draft of the answer; Ctrl-C leaves"
                 : fmt::format("asleep until you say \"{}\"; Ctrl-C leaves", options.wake));
  }
  Conversation conversation(
      {.make_recogniser = make_recogniser,
       .sample_rate = audio->sample_rate(),
       .end = end,
       .while_speaking = while_speaking,
       .rules = {.language = language_heard(options.hearing.recogniser, options.hearing.language)},
       .wake = options.wake_rules(),
       .answers = loaded.sink(),
       .tools = loaded.tools()},
      view, clock, stop);
  std::optional<EnterKey> enter;
  std::function<bool()> is_held;
  if (options.pushes_to_talk) {
    view.say("Enter begins what you say, and Enter ends it");
    enter.emplace(STDIN_FILENO,
                  [&view](bool is_on) { view.say(is_on ? "[you speak]" : "[heard]"); });
    is_held = [&enter] { return enter->is_on(); };
  }
  const SoundReader reader(*audio, conversation, clock, stop, is_held);
  try {
    while (conversation.take_turn(session)) continue;
    loaded.drain();
  } catch (...) {  // Ctrl-C, say, which is how a talk with a microphone ends
    view.finish();
    throw;
  }
  view.finish();
  if (view.num_turns() == 0) {
    view.say(options.wake.empty() ? "no speech was heard"
                                  : "nothing was heard after the wake phrase");
  }
  if (view.num_failed() > 0) throw UserError("{} turns failed, see above", view.num_failed());
  if (conversation.num_lost() > 0) {
    throw UserError("the recogniser failed {} times, see above", conversation.num_lost());
  }
}

}  // namespace

void add_talk(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("talk", "Speak with a model: microphone to loudspeaker");
  command->footer(kTalkExamples);
  auto options = std::make_shared<TalkOptions>();
  options->conversation.model.model = "smollm2";
  options->conversation.voice.tts = best_voice();
  options->conversation.add_to(*command, "--output");
  command->get_option("--model")->required(false)->capture_default_str();
  const std::vector<std::string> ends{"sound+words", "sound", "words", "pause"};
  add_flags(
      *command,
      together(
          {{{"input", options->input,
             "mic, mic:NAME (a part of a device's name), a sound file, or - for a WAV file or raw "
             "16-bit mono samples on stdin"},
            {"input_rate", options->input_rate, between(8000, 192000),
             "Hz of raw samples, with --input -"},
            {"record", options->record,
             "Folder that keeps what is heard, echo taken out: heard-1.wav, heard-2.wav, .. "
             "(nothing is kept without it)"}},
           settings_of(options->hearing),
           {{"wake", options->wake,
             "A phrase, as \"hey jarvis\": what is said before it is not answered. It is heard by "
             "the "
             "recogniser, and one letter in five may differ"},
            {"follow_up", options->follow_up, between(0, 600),
             "Seconds after an answer, or after the wake phrase alone, in which it is not needed"},
            {"push_to_talk", options->pushes_to_talk,
             "Enter begins what you say, and Enter ends it; nothing else is heard"},
            Setting("eager", options->is_eager,
                    "Answer after half the pause. It cuts you off more often: speak on, the answer "
                    "stops, and if nothing of it was heard, your words are put together"),
            {"end_by", options->end_by, ends,
             "What tells, beside how long a pause is, whether a turn is over: how it was said "
             "(sound), what was said (words), sound+words, or nothing else (pause)"},
            {"preemptive", options->conversation.session.preempts,
             "No drafts: a whole answer is begun when you pause for 0.2 s, and lost if you go on "
             "(for comparison: LiveKit's way)"},
            {"headphones", options->has_headphones,
             "The microphone does not hear the answer: there is no echo to take out"},
            {"json", options->json,
             "One JSON document on stdout, at the end: what was heard and said, and how long it "
             "took"}}}));
  command->get_option("--eager")->excludes("--shortest-wait")->excludes("--longest-wait");
  command->get_option("--push-to-talk")->excludes("--wake")->excludes("--eager");
  command->get_option("--preemptive")->excludes("--verifier")->excludes("--preset");
  command->callback([options, stop] { talk(*options, stop); });
}

}  // namespace predgen::cli
