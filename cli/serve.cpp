#include <c10/core/InferenceMode.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/model_setup.h"
#include "cli/voice_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "runtime/converse/session_options.h"
#include "runtime/serve/completer.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/openai_api.h"
#include "text/tokenizer.h"
#include "voice/make_synthesizer.h"

namespace predgen {
namespace {

constexpr const char* kExamples = R"(
Speaks OpenAI's HTTP and Realtime APIs, and has a page at /, /health and /metrics. Its address
is printed on stdout as soon as it answers. Ctrl-C or SIGTERM lets answers under way end.

Examples:
  predgen serve --model checkpoints/demo
  predgen serve --model checkpoints/demo --config configs/runtime/serve.yaml max_sessions=4
  curl http://127.0.0.1:8080/v1/models
)";

struct ServeOptions {
  ModelOptions model;
  std::string chat_template, config;
  std::vector<std::string> overrides;
  std::optional<std::string> host;
  std::optional<int64_t> port;
  bool insecure_without_key = false;
  VoiceFlags voice;
};

ServeConfig read_config(const ServeOptions& options) {
  ServeConfig config = read_serve_config(options.config, options.overrides);
  if (options.host) config.host = *options.host;
  if (options.port) config.port = *options.port;
  check_access(config, options.insecure_without_key);
  if (config.model_name.empty()) {
    config.model_name = std::filesystem::canonical(options.model.model).filename().string();
  }
  return config;
}

/// UserError for a voice that cannot be had. Each conversation has one of its own.
VoiceOptions read_voice(const VoiceFlags& flags) {
  VoiceOptions voice = flags.parse();
  if (voice.kind == VoiceKind::kZonos) {
    throw UserError(
        "--tts zonos: each conversation would have a copy of the voice's weights: use espeak");
  }
  make_synthesizer(voice);
  return voice;
}

std::unique_ptr<SpeechSynthesizer> make_voice(VoiceOptions voice, const std::string& name) {
  voice.espeak.voice = name;
  return make_synthesizer(voice);
}

SessionConfig session_config(const ServeConfig& config, Engine& engine, Baton& baton) {
  const Baton::Hold hold(baton);
  return make_session_config({.verifier = config.realtime.verifier,
                              .top_k = config.realtime.top_k,
                              .decoder = config.decoder,
                              .preset = config.realtime.preset,
                              .system_prompt = config.realtime.system_prompt,
                              .max_new_tokens = config.max_new_tokens,
                              .max_context = config.max_context},
                             engine);
}

/// The first pass takes longer than others.
void warm_up(Engine& engine, Baton& baton) {
  const Baton::Hold hold(baton);
  Sequence sequence = engine.make_sequence(1);
  sequence.append(TokenIds{0});
  engine.run({.sequence = &sequence});
}

void serve(const ServeOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(options.model.model, options.chat_template);
  const ServeConfig config = read_config(options);
  const VoiceOptions voice = read_voice(options.voice);
  const bool has_voice = voice.kind != VoiceKind::kNone;
  const GenerationDefaults defaults = read_generation_defaults(options.model.model);
  Baton baton;
  Engine engine(set_up_model(options.model), {.pass_tokens = config.pass_tokens, .baton = &baton});
  warm_up(engine, baton);

  SystemClock clock(stop);
  ServeMetrics metrics;
  Completer completer(engine, baton, *tokenizer, defaults, config, metrics, clock);
  const RealtimeHost host{
      .engine = engine,
      .baton = baton,
      .tokenizer = *tokenizer,
      .clock = clock,
      .metrics = metrics,
      .session = session_config(config, engine, baton),
      .offer = {.model = config.model_name,
                .voice = has_voice ? voice.espeak.voice : "",
                .max_new_tokens = config.max_new_tokens,
                .has_tools = tokenizer->tool_format() != ToolFormat::kNone},
      .make_voice = [&voice](const std::string& name) { return make_voice(voice, name); },
      .ahead = voice.ahead_buffer()};
  RealtimeApi realtime(host, config.realtime.max_sessions);
  OpenAiApi api(completer, engine, baton, metrics, realtime, config.model_name,
                ApiKeys(config.api_keys_sha256));
  HttpServer server(config.host, static_cast<int>(config.port), config.limits,
                    [&](const HttpRequest& request, HttpReply& reply, const std::stop_token& now) {
                      api.handle(request, reply, now);
                    });
  const bool is_v6 = config.host.find(':') != std::string::npos;
  std::printf("http://%s:%d\n", (is_v6 ? "[" + config.host + "]" : config.host).c_str(),
              server.port());
  std::fflush(stdout);
  server.run(stop);
  throw_if_stopped(stop);
}

}  // namespace

void add_serve(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("serve", "Answer other programs over HTTP");
  command->footer(kExamples);
  auto options = std::make_shared<ServeOptions>();
  options->model.add_to(*command);
  options->voice.add_to(*command);
  add_chat_template(*command, options->chat_template);
  command->add_option("--config", options->config, "YAML file, such as configs/runtime/serve.yaml");
  command->add_option("overrides", options->overrides, "key.sub=value, stronger than the file");
  command->add_option("--host", options->host,
                      "address to listen at; 127.0.0.1: this machine only");
  command->add_option("--port", options->port, "8080 if absent; 0: a free one")
      ->check(CLI::Range(int64_t{0}, int64_t{65535}));
  command->add_flag("--insecure-without-key", options->insecure_without_key,
                    "let other machines ask without an API key");
  command->callback([options, stop] { serve(*options, stop); });
}

}  // namespace predgen
