#include "cli/loaded_session.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "audio/make_audio_sink.h"
#include "cli/model_setup.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "data/past_answers.h"
#include "data/repetition.h"
#include "model/stream_priority.h"
#include "runtime/converse/words_end.h"
#include "runtime/generate/model_source.h"
#include "runtime/speech/make_speaker.h"
#include "voice/make_voice.h"

namespace predgen::cli {
namespace {

/// On a machine that plays no sound: a file, or nothing if none can be written.
std::unique_ptr<AudioSink> sink_instead(const std::string& why, int rate, int output_rate,
                                        const std::stop_token& stop) {
  constexpr const char* kFile = "runs/predgen_answers.wav";
  try {
    make_folder("runs");
    auto file = make_audio_sink(kFile, rate, output_rate, stop);
    spdlog::warn("{}; the answers are in {}", why, kFile);
    return file;
  } catch (const UserError& error) {
    spdlog::warn("{}; {}; going on without sound", why, error.what());
    return make_audio_sink("none", rate, output_rate, stop);
  }
}

std::unique_ptr<AudioSink> make_sink(const ConversationOptions& options, int rate,
                                     const std::stop_token& stop, PlayedSound* played) {
  try {
    return make_audio_sink(options.audio_out, rate, options.audio_rate, stop, played);
  } catch (const UserError& error) {
    if (options.audio_out != "play") throw;
    return sink_instead(error.what(), rate, options.audio_rate, stop);
  }
}

}  // namespace

LoadedSession::LoadedSession(const ConversationOptions& options,
                             std::unique_ptr<const Checkpoint> checkpoint, SystemClock& clock,
                             const std::stop_token& stop, PlayedSound* played, bool tells_ends,
                             const LoadOptions::Progress& on_loading)
    : checkpoint_(std::move(checkpoint)),
      tokenizer_(load_tokenizer(checkpoint_->read_tokenizer(options.chat_template))) {
  const std::unique_ptr<const Checkpoint> draft_checkpoint =
      open_draft_model(options.draft_model, *checkpoint_, tokenizer_.get());
  SessionOptions choices = options.session;
  if (!options.past_answers.empty()) {
    choices.past_answers = data::read_past_answers(options.past_answers, *tokenizer_);
  }
  // What is mistaken is said before a model is loaded.
  choices.sampling = options.sampling.parse(checkpoint_->read_generation());
  const VoiceOptions voice_options = options.voice.parse();
  servers_ = start_tool_servers(options.mcp, *tokenizer_, checkpoint_->name(), stop);
  const EngineConfig engine_config{.pass_tokens = options.session.pass_tokens};
  const std::shared_ptr<Transformer> model = set_up_model(
      *checkpoint_, options.model, /*prepares_passes=*/true, on_loading, options.draft_model);
  engine_.emplace(model, engine_config);
  if (const auto draft = set_up_draft_model(draft_checkpoint.get(), *model, options.model)) {
    choices.draft_model = &draft_.emplace(draft, engine_config);
  }
  stream_.emplace(make_stream(model->device(), StreamPriority::kHigh));
  voice_ = make_voice(voice_options);
  if (voice_) {
    synthesizer_ = voice_->synthesizer();
    sink_ = make_sink(options, voice_->sample_rate(), stop, played);
  }
  if (tells_ends) {
    choices.end_readout =
        find_end_readout(checkpoint_->name(), model->vocab_size(), !options.model.adapter.empty());
  }
  choices.has_voice = voice_ != nullptr;
  SessionConfig config = make_session_config(choices, *engine_);
  if (servers_) config.system_prompt = joined(config.system_prompt, "\n\n", servers_->prompt());
  if (!options.session.let_repeat) config.turn.is_stuck = data::repeats_itself;
  std::unique_ptr<Speaker> speaker =
      make_speaker(clock,
                   {.voice = synthesizer_.get(),
                    .sink = sink_.get(),
                    .ahead = voice_ ? voice_->ahead_buffer() : AheadBuffer{}},
                   stop);
  session_.emplace(config, *engine_, *tokenizer_, std::move(speaker), clock);
  if (servers_) {
    rounds_.emplace(calls_.emplace(*servers_), options.tool_rounds, clock);
    grammars_.emplace(*tokenizer_);
    rounds_->set_form([this, thinks = config.thinks](AnswerRules rules) {
      // Who reads may have asked for it, and thoughts have anything.
      if (!voice_ || thinks) rules.json = AnswerRules::NamedJson::kText;
      return held_if_possible(
          [&] { return call_constraint(*grammars_, rules, *tokenizer_, thinks); });
    });
    rounds_->offer_tools(*session_);
  }
  session_->set_history({});
}

void LoadedSession::drain() {
  if (!sink_) return;
  try {
    sink_->drain();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    spdlog::error("audio output failed: {}", error.what());
  }
}

void ConversationOptions::check_audio_out(const std::string& input) const {
  std::error_code absent;
  const bool is_file = audio_out != "play" && audio_out != "none" && audio_out != "-";
  if (voice.tts == "none" || !is_file || !std::filesystem::exists(audio_out, absent)) return;
  if (std::filesystem::equivalent(audio_out, input, absent)) {
    throw UserError("{} {}: is what is heard; name a new file", audio_out_name_, audio_out);
  }
  if (overwrite || std::filesystem::is_character_file(audio_out, absent)) return;
  throw UserError("{} {}: is there already; name a new file, or give --overwrite", audio_out_name_,
                  audio_out);
}

void ConversationOptions::add_to(CLI::App& command, const std::string& audio_out_name) {
  audio_out_name_ = audio_out_name;
  model.add_to(command);
  const char* const experiments = "For experiments";
  const Settings choices = settings_of(session);
  add_flags(command,
            only(choices, {"verifier", "top_k", "judged_sentences", "decoder", "pass_tokens"}),
            experiments);
  add_flags(command, draft_settings(draft_model, past_answers), experiments);
  command.get_option("--state-memory")->group(experiments);
  add_flags(command, only(choices, {"preset"}));
  sampling.add_to(command, "--sampling-top-k");
  add_flags(command, only(choices, {"max_new_tokens", "let_repeat", "think", "max_context"}));
  voice.add_to(command);
  const char* const alias = audio_out_name == "--output" ? "--audio-out" : "--output";
  add_flags(command, {Setting("audio_out", audio_out,
                              "play, none, a .wav file, or - for raw 16-bit samples on stdout")
                          .as(audio_out_name + "," + alias),
                      {"overwrite", overwrite, "The .wav file may replace one that is there"}});
  command.add_option("--audio-rate", audio_rate, "Hz of the sound; the voice's if absent")
      ->check(CLI::Range(4000, 192000));
  add_flags(command, only(choices, {"system_prompt"}));
  add_chat_template(command, chat_template);
  add_mcp(command, mcp);
  add_flags(command, settings_of(tool_rounds));
}

}  // namespace predgen::cli
