#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/chat_view.h"
#include "cli/command.h"
#include "cli/model_setup.h"
#include "cli/voice_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "model/stream_priority.h"
#include "runtime/converse/system_prompt.h"
#include "runtime/converse/turn.h"
#include "runtime/generate/make_generator.h"
#include "runtime/input/recorded_source.h"
#include "runtime/input/scheduled_source.h"
#include "runtime/input/stdin_source.h"
#include "runtime/input/transcript_lines.h"
#include "runtime/speculate/input_time_speculator.h"
#include "runtime/speculate/make_verifier.h"
#include "runtime/speech/make_audio_sink.h"
#include "runtime/speech/threaded_speaker.h"
#include "text/tokenizer.h"
#include "voice/make_synthesizer.h"

namespace predgen {
namespace {

constexpr const char* kExamples = R"(
A line typed on a terminal is a whole turn. Transcripts of a recogniser are JSON lines
{"text", "time", "revision", "final", "end_of_turn"}, all but "text" optional; every line holds
everything heard so far. They come from a pipe, or from a file whose "time"s are kept.

Examples:
  predgen chat --model checkpoints/demo
  predgen chat --model checkpoints/demo --tts espeak --audio-out answer.wav
  predgen chat --model checkpoints/demo --tts zonos --tts-model Zonos-v0.1-transformer
  predgen chat --model checkpoints/demo --tts espeak --audio-out - | aplay -t raw -f S16_LE -r 22050
  my-recogniser | predgen chat --model checkpoints/demo --transcripts - --json
)";

struct ChatOptions {
  ModelOptions model;
  std::string verifier = "greedy", decoder = "ar", system_prompt = "none";
  int64_t top_k = 3, max_new_tokens = 256, max_context = 8192;
  VoiceFlags voice;
  std::string audio_out = "play", transcripts, chat_template;
  int audio_rate = 0;  // Hz; 0: the voice's
  bool json = false;
};

/// The voice and where it is heard; silent if that is wanted.
struct Mouth {
  std::unique_ptr<SpeechSynthesizer> synthesizer;
  std::unique_ptr<AudioSink> sink;
  std::unique_ptr<Speaker> speaker = std::make_unique<SilentSpeaker>();
};

Mouth make_mouth(const ChatOptions& options, const Clock& clock, const std::stop_token& stop) {
  constexpr const char* kInsteadOfPlaying = "predgen_answers.wav";
  const VoiceOptions voice = options.voice.parse();
  Mouth mouth;
  mouth.synthesizer = make_synthesizer(voice);
  if (!mouth.synthesizer) return mouth;
  const int rate = mouth.synthesizer->sample_rate();
  try {
    mouth.sink = make_audio_sink(options.audio_out, rate, options.audio_rate, stop);
  } catch (const UserError& error) {
    if (options.audio_out != "play") throw;
    mouth.sink = make_audio_sink(kInsteadOfPlaying, rate, options.audio_rate, stop);
    spdlog::warn("{}; the answers are in {}", error.what(), kInsteadOfPlaying);
  }
  mouth.speaker = std::make_unique<ThreadedSpeaker>(*mouth.synthesizer, *mouth.sink, clock,
                                                    voice.ahead_buffer(), stop);
  return mouth;
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
  const bool speculates = options.verifier != "off";
  const auto verifier =
      make_verifier({.name = speculates ? options.verifier : "greedy", .top_k = options.top_k});
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(options.model.model, options.chat_template);
  const std::unique_ptr<Transformer> model = set_up_model(options.model);
  const auto generator = make_generator({.name = options.decoder}, *model);
  const c10::StreamGuard stream(make_stream(model->device(), StreamPriority::kHigh));

  SystemClock clock(stop);
  Mouth mouth = make_mouth(options, clock, stop);
  TurnConfig config;
  config.work = speculates ? InputTimeWork::kSpeculate : InputTimeWork::kCascade;
  config.max_new_tokens = options.max_new_tokens;
  InputTimeSpeculator speculator(
      *model, *verifier, *generator,
      [&](TokenSpan answer) {
        return first_sentence_length(*tokenizer, config.split_mode, answer);
      },
      std::min(options.max_context, model->max_positions()));
  Conversation conversation(config, *tokenizer, speculator, *mouth.speaker, clock,
                            system_prompt_text(options.system_prompt), stop);
  conversation.set_history({});

  ChatView view(options.json ? ChatView::Format::kJson : ChatView::Format::kText,
                options.transcripts.empty(), stdout_is_sound ? stderr : stdout);
  const auto source = make_source(options.transcripts, clock, stop);
  while (true) {
    view.begin_turn();
    const std::optional<TurnResult> result = conversation.run_turn(*source, view.observer());
    if (!result) break;
    view.end_turn(*result);
  }
  if (mouth.sink) drain(*mouth.sink);
  view.finish();
}

}  // namespace

void add_chat(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("chat", "Talk to a model: typed lines or transcripts");
  command->footer(kExamples);
  auto options = std::make_shared<ChatOptions>();
  options->model.add_to(*command);
  command
      ->add_option("--verifier", options->verifier,
                   "off, or what keeps a draft: greedy (exact), topk")
      ->check(CLI::IsMember({"off", "greedy", "topk"}))
      ->capture_default_str();
  command->add_option("--top-k", options->top_k, "With --verifier topk")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}))
      ->capture_default_str();
  command->add_option("--decoder", options->decoder, "ar, or jacobi for a consistency model")
      ->check(CLI::IsMember(generator_names()))
      ->capture_default_str();
  command->add_option("--max-new-tokens", options->max_new_tokens, "Of one answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--max-context", options->max_context, "Tokens of conversation to keep room for")
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
                   "none, table3 (the paper's) or a text")
      ->capture_default_str();
  add_chat_template(*command, options->chat_template);
  command->add_flag("--json", options->json, "One JSON document on stdout, at the end");
  command->callback([options, stop] { chat(*options, stop); });
}

}  // namespace predgen
