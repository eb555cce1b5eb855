#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/chat_view.h"
#include "cli/command.h"
#include "cli/model_setup.h"
#include "cli/sampling_flags.h"
#include "cli/terminal/raw_terminal.h"
#include "cli/typed_turns.h"
#include "cli/voice_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "data/repetition.h"
#include "model/stream_priority.h"
#include "runtime/converse/preset.h"
#include "runtime/converse/session.h"
#include "runtime/converse/session_options.h"
#include "runtime/generate/model_source.h"
#include "runtime/listen/queued_turns.h"
#include "runtime/listen/recorded_source.h"
#include "runtime/listen/scheduled_source.h"
#include "runtime/listen/stdin_source.h"
#include "runtime/listen/transcript_lines.h"
#include "runtime/speech/make_audio_sink.h"
#include "runtime/speech/make_speaker.h"
#include "text/tokenizer.h"
#include "voice/make_voice.h"

namespace predgen::cli {
namespace {

constexpr const char* kExamples = R"(
At a terminal the answer is drafted while you type, and shown below the line; /help lists the
commands. Lines from a pipe are whole turns. Transcripts of a recogniser are JSON lines
{"text", "time", "revision", "final", "end_of_turn"}, all but "text" optional; every line holds
everything heard so far. They come from a pipe, or from a file whose "time"s are kept. Messages of
Deepgram, AssemblyAI, sherpa-onnx and RTVI are understood as they come, one a line.

Examples:
  predgen chat --model checkpoints/demo
  predgen chat --model checkpoints/demo --tts espeak --audio-out answer.wav
  predgen chat --model checkpoints/demo --tts zonos --tts-model Zonos-v0.1-transformer
  predgen chat --model checkpoints/demo --tts espeak --audio-out - | aplay -t raw -f S16_LE -r 22050
  my-recogniser | predgen chat --model checkpoints/demo --transcripts - --json
)";

struct ChatOptions {
  ModelOptions model;
  std::string verifier = "greedy", draft_model, decoder = "ar", preset = "plain",
              system_prompt = "auto";
  SamplingFlags sampling;
  int64_t top_k = 3, judged_sentences = 1, max_new_tokens = 256, max_context = 8192,
          pass_tokens = 512;
  VoiceFlags voice;
  std::string audio_out = "play", transcripts, chat_template;
  int audio_rate = 0;  // Hz; 0: the voice's
  bool let_repeat = false, json = false;
};

std::unique_ptr<AudioSink> make_sink(const ChatOptions& options, int rate,
                                     const std::stop_token& stop) {
  constexpr const char* kInsteadOfPlaying = "runs/predgen_answers.wav";
  try {
    return make_audio_sink(options.audio_out, rate, options.audio_rate, stop);
  } catch (const UserError& error) {
    if (options.audio_out != "play") throw;
    make_folder("runs");
    auto file = make_audio_sink(kInsteadOfPlaying, rate, options.audio_rate, stop);
    spdlog::warn("{}; the answers are in {}", error.what(), kInsteadOfPlaying);
    return file;
  }
}

/// The text is out by now: sound that fails is worth a message only.
void drain(AudioSink& sink) {
  try {
    sink.drain();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    spdlog::error("audio output failed: {}", error.what());
  }
}

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
  const bool stdout_is_sound = options.audio_out == "-" && options.voice.tts != "none";
  if (stdout_is_sound && options.json) {
    throw UserError("--json and --audio-out - both want stdout: use --audio-out FILE.wav");
  }
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(checkpoint->read_tokenizer(options.chat_template));
  std::unique_ptr<const Checkpoint> draft_checkpoint;
  if (!options.draft_model.empty()) {
    draft_checkpoint = open_checkpoint(options.draft_model);
    check_draft_model(*tokenizer, *checkpoint, *draft_checkpoint);
  }
  const std::shared_ptr<const Transformer> model = set_up_model(*checkpoint, options.model);
  Engine engine(model, {.pass_tokens = options.pass_tokens});
  std::optional<Engine> draft;
  if (draft_checkpoint) {
    draft.emplace(set_up_draft_model(*draft_checkpoint, options.model),
                  EngineConfig{.pass_tokens = options.pass_tokens});
  }
  const c10::StreamGuard stream(make_stream(model->device(), StreamPriority::kHigh));

  SystemClock clock(stop);
  const std::unique_ptr<const Voice> voice = make_voice(options.voice.parse());
  const std::unique_ptr<SpeechSynthesizer> synthesizer = voice ? voice->synthesizer() : nullptr;
  const std::unique_ptr<AudioSink> sink =
      voice ? make_sink(options, voice->sample_rate(), stop) : nullptr;
  SessionConfig config =
      make_session_config({.verifier = options.verifier,
                           .top_k = options.top_k,
                           .judged_sentences = options.judged_sentences,
                           .decoder = options.decoder,
                           .draft_model = draft ? &*draft : nullptr,
                           .preset = options.preset,
                           .system_prompt = options.system_prompt,
                           .has_voice = voice != nullptr,
                           .sampling = options.sampling.parse(checkpoint->read_generation()),
                           .max_new_tokens = options.max_new_tokens,
                           .max_context = options.max_context},
                          engine);
  if (!options.let_repeat) {
    config.turn.is_stuck = [](TokenSpan answer, const std::string& text) {
      return !data::find_repetition(answer, text, data::RepetitionConfig()).empty();
    };
  }
  std::unique_ptr<Speaker> made =
      make_speaker(clock,
                   {.voice = synthesizer.get(),
                    .sink = sink.get(),
                    .ahead = voice ? voice->ahead_buffer() : AheadBuffer{}},
                   stop);
  const Speaker& speaker = *made;
  Session session(config, engine, *tokenizer, std::move(made), clock);
  session.set_history({});

  const int screen = stdout_is_sound ? STDERR_FILENO : STDOUT_FILENO;
  if (options.transcripts.empty() && !options.json &&
      RawTerminal::is_possible(STDIN_FILENO, screen)) {
    run_typed_turns({session, engine, *tokenizer, clock, speaker}, STDIN_FILENO, screen, stop);
    if (sink) drain(*sink);
    return;
  }
  ChatView view(options.json ? ChatView::Format::kJson : ChatView::Format::kText,
                options.transcripts.empty(), stdout_is_sound ? stderr : stdout);
  const auto source = make_source(options.transcripts, clock, stop);
  QueuedTurns turns(*source);
  int64_t num_turns = 0, num_failed = 0;
  while (true) {
    view.begin_turn();
    const std::optional<TurnResult> result = session.run_turn(turns, view.observer(), stop);
    if (!result) break;
    view.end_turn(*result);
    ++num_turns;
    num_failed += result->error.has_value();
  }
  if (sink) drain(*sink);
  view.finish();
  if (num_failed > 0) throw UserError("{} of {} turns failed, see above", num_failed, num_turns);
}

}  // namespace

void add_chat(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("chat", "Talk to a model: typed lines or transcripts");
  command->footer(kExamples);
  auto options = std::make_shared<ChatOptions>();
  options->model.add_to(*command);
  command
      ->add_option("--verifier", options->verifier,
                   "off, or what keeps a draft: greedy (exact), topk, reflection")
      ->check(CLI::IsMember(verifier_choices()))
      ->capture_default_str();
  command->add_option("--top-k", options->top_k, "With --verifier topk")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}))
      ->capture_default_str();
  command
      ->add_option("--judged-sentences", options->judged_sentences,
                   "With --verifier reflection: how much of a draft the model may keep at once")
      ->check(CLI::Range(int64_t{1}, int64_t{100}))
      ->capture_default_str();
  command->add_option("--decoder", options->decoder, "ar, or jacobi for a consistency model")
      ->check(CLI::IsMember(generator_names()))
      ->capture_default_str();
  command->add_option("--draft-model", options->draft_model, kDraftModelHelp);
  std::vector<std::string> names;
  std::string help = "What speculation may cost;";
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
    help += "\n" + preset.name + ": " + preset.help;
  }
  command->add_option("--preset", options->preset, help)
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  options->sampling.add_to(*command, "--sampling-top-k");
  command->add_option("--max-new-tokens", options->max_new_tokens, "Of one answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--let-repeat", options->let_repeat,
                    "Do not end an answer that repeats itself: a token 10 times in a row, or 8 "
                    "tokens or a sentence three times");
  command
      ->add_option("--max-context", options->max_context, "Tokens of conversation to keep room for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--pass-tokens", options->pass_tokens,
                   "Tokens of one forward pass; a longer prompt takes several, and new words are "
                   "seen between them")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options->voice.add_to(*command);
  command
      ->add_option("--audio-out", options->audio_out,
                   "play, none, a .wav file, or - for raw 16-bit samples on stdout")
      ->capture_default_str();
  command->add_option("--audio-rate", options->audio_rate, "Hz of the sound; the voice's if absent")
      ->check(CLI::Range(4000, 192000));
  command->add_option("--transcripts", options->transcripts,
                      "JSON lines of a recogniser: a file, or - for stdin");
  command
      ->add_option("--system-prompt", options->system_prompt,
                   "A text, @FILE, none, spoken (for short answers without lists), table3 (the "
                   "paper's), or auto: spoken with a voice, else none")
      ->capture_default_str();
  add_chat_template(*command, options->chat_template);
  command->add_flag("--json", options->json, "One JSON document on stdout, at the end");
  command->callback([options, stop] { chat(*options, stop); });
}

}  // namespace predgen::cli
