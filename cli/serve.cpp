#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "cli/model_setup.h"
#include "cli/voice_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "core/version.h"
#include "model/memory_left.h"
#include "runtime/converse/end_readout.h"
#include "runtime/converse/session_options.h"
#include "runtime/generate/make_generator.h"
#include "runtime/listen/make_recogniser.h"
#include "runtime/price/engine_prices.h"
#include "serve/http/http_server.h"
#include "serve/openai/completer.h"
#include "serve/openai/openai_api.h"
#include "serve/pool_size.h"
#include "serve/wyoming/wyoming_server.h"
#include "text/tokenizer.h"
#include "voice/make_voice.h"

namespace predgen::cli {
namespace {

constexpr const char* kServeExamples = R"(
Speaks OpenAI's HTTP and Realtime APIs, by option Wyoming, too, and has a page at /, /health and
/metrics. Its address is the first line on stdout, as soon as it answers. Ctrl-C or SIGTERM lets
answers under way end.

Examples:
  predgen serve --model smollm2
  predgen serve --model smollm2 --tts hibari realtime.recogniser=base    # it hears, too
  predgen serve --model smollm2 --tts hibari --wyoming-port 10700
  predgen serve --model smollm2 --config configs/runtime/serve.yaml max_sessions=4
  curl http://127.0.0.1:8080/v1/models
)";

struct ServeOptions {
  ModelOptions model;
  std::string chat_template, config;
  std::vector<std::string> overrides;
  std::optional<std::string> host;
  std::optional<int64_t> port, wyoming_port;
  bool insecure_without_key = false;
  VoiceFlags voice;
};

serve::ServeConfig read_config(const ServeOptions& options, const std::string& model) {
  serve::ServeConfig config = serve::read_serve_config(options.config, options.overrides);
  if (options.host) config.host = *options.host;
  if (options.port) config.port = *options.port;
  if (options.wyoming_port) config.wyoming.port = *options.wyoming_port;
  serve::check_access(config, options.insecure_without_key);
  if (config.model_name.empty()) {
    const std::filesystem::path path = std::filesystem::canonical(model);
    config.model_name = (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
  }
  return config;
}

SessionConfig session_config(const serve::ServeConfig& config, const std::string& model,
                             bool has_voice, Engine& engine, Baton& baton) {
  const Baton::Hold hold(baton);
  const bool tells_ends = !config.realtime.recogniser.empty();
  const std::filesystem::path path = std::filesystem::canonical(model);  // it may be a link
  SessionConfig session = make_session_config(
      {.verifier = config.realtime.verifier,
       .top_k = config.realtime.top_k,
       .decoder = config.decoder,
       .end_readout = tells_ends ? find_end_readout(path, engine.model().vocab_size()) : nullptr,
       .preset = config.realtime.preset,
       .system_prompt = config.realtime.system_prompt,
       .has_voice = has_voice,
       .max_new_tokens = config.max_new_tokens,
       .max_context = config.max_context,
       .turn_draft_tokens = config.realtime.turn_draft_tokens},
      engine);
  make_generator(session.generator, engine);  // a decoder that does not fit the adapter fails here
  return session;
}

/// Whether it is a recogniser of predgen-ears, which reports voice activity.
bool is_ours(const std::string& recogniser) {
  return !recogniser.empty() && !is_recogniser_url(recogniser);
}

int64_t choose_pool(const serve::ServeConfig& config, const LanguageModel& model) {
  const KvLayout layout = model.kv_layout();
  const int64_t positions = serve::pool_positions(config, model.max_positions(), layout,
                                                  memory_left(layout.options.device()));
  constexpr double kGiB = 1 << 30;
  spdlog::info(
      "caches hold up to {} positions, {:.1f} GiB of the {}'s memory (pool_positions)", positions,
      static_cast<double>(positions) * static_cast<double>(layout.bytes_per_position()) / kGiB,
      c10::DeviceTypeName(layout.options.device().type(), /*lower_case=*/true));
  return positions;
}

/// The first passes take longer than others. Returns their prices, or `known` if it has any.
PassPrices warm_up(Engine& engine, Baton& baton, const PassPrices& known) {
  if (known.is_known()) return known;
  const Baton::Hold hold(baton);
  constexpr int64_t kWidest = 16;
  return measure_prices(engine, std::min(kWidest, engine.model().max_positions() - 1));
}

std::string address(const char* scheme, const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", scheme, is_v6 ? "[" + host + "]" : host, port);
}

/// Prints the addresses, one per line for programs, and what they offer for people.
void print_addresses(const serve::ServeConfig& config, const Voice* voice, int port,
                     int wyoming_port) {
  const std::string here = address("http", config.host, port);
  std::string text = here + "\n";
  if (wyoming_port > 0) text += address("tcp", config.wyoming.host, wyoming_port) + "\n";
  text += fmt::format("  page        {}/\n", here);
  text += fmt::format("  OpenAI API  {}/v1  (model {}, {}{})\n", here, config.model_name,
                      config.api_keys_sha256.empty() ? "no key" : "with a key",
                      voice ? ", with the voice " + voice->names().front() : "");
  text += fmt::format("  WebSocket   {}/v1/realtime\n", address("ws", config.host, port));
  if (wyoming_port > 0) text += "  Wyoming     the second address, for Home Assistant\n";
  text += "  Ctrl-C lets answers under way end, and stops it.\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void run(serve::WyomingServer& server, const std::stop_token& stop) {
  try {
    server.run(stop);
  } catch (const std::exception& error) {
    spdlog::error("the Wyoming service has ended: {}", first_line(error.what()));
  }
}

void serve(const ServeOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may exit
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(checkpoint->read_tokenizer(options.chat_template));
  const serve::ServeConfig config = read_config(options, checkpoint->name());
  serve::TcpServer::check_free(config.host, static_cast<int>(config.port));
  if (config.wyoming.port >= 0) {
    serve::TcpServer::check_free(config.wyoming.host, static_cast<int>(config.wyoming.port));
  }
  const std::unique_ptr<const Voice> voice = make_voice(options.voice.parse());
  const GenerationDefaults defaults = read_generation_defaults(checkpoint->read_generation());
  Baton baton;
  const std::shared_ptr<const LanguageModel> model = set_up_model(*checkpoint, options.model);
  Engine engine(model, {.pass_tokens = config.pass_tokens,
                        .pool_positions = choose_pool(config, *model),
                        .baton = &baton,
                        .has_thread = true});
  const SessionConfig session =
      session_config(config, checkpoint->name(), voice != nullptr, engine, baton);
  const PassPrices prices = warm_up(engine, baton, session.generator.prices);
  engine.share_fairly(prices.tokens_for(1));
  if (config.realtime.drafts_yield) engine.yield_speculation(prices.tokens_for(1));

  SystemClock clock(stop);
  serve::ServeMetrics metrics;
  serve::Completer completer(engine, baton, *tokenizer, defaults, config, metrics, clock, prices);
  const serve::RealtimeHost host{
      .engine = engine,
      .baton = baton,
      .tokenizer = *tokenizer,
      .clock = clock,
      .metrics = metrics,
      .session = session,
      .offer = {.model = config.model_name,
                .voice = voice.get(),
                .max_new_tokens = config.max_new_tokens,
                .has_recogniser = !config.realtime.recogniser.empty(),
                .has_voice_activity = is_ours(config.realtime.recogniser),
                .waits = config.realtime.waits,
                .has_tools = tokenizer->tool_format() != ToolFormat::kNone},
      .make_recogniser = recognisers_named(config.realtime.recogniser),
      .language = language_heard(config.realtime.recogniser)};
  serve::RealtimeApi realtime(host, config.realtime.max_sessions);
  serve::OpenAiApi api(completer, baton, metrics, realtime, config.model_name,
                       serve::ApiKeys(config.api_keys_sha256));
  serve::HttpServer server(config.host, static_cast<int>(config.port), config.limits,
                           [&](const serve::HttpRequest& request, serve::HttpReply& reply,
                               const std::stop_token& now) { api.handle(request, reply, now); });
  std::optional<serve::WyomingServer> wyoming;
  if (config.wyoming.port >= 0)
    wyoming.emplace(config.wyoming, config.limits, host, program_version());
  print_addresses(config, voice.get(), server.port(), wyoming ? wyoming->port() : 0);
  std::jthread other;
  if (wyoming) other = std::jthread([&](const std::stop_token& now) { run(*wyoming, now); });
  const std::stop_callback on_stop(stop, [&other] { other.request_stop(); });
  server.run(stop);
  throw_if_stopped(stop);
}

}  // namespace

void add_serve(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("serve", "Answer other programs over HTTP");
  command->footer(kServeExamples);
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
  command
      ->add_option("--wyoming-port", options->wyoming_port,
                   "also be a Wyoming service, for Home Assistant; 0: a free port")
      ->check(CLI::Range(int64_t{0}, int64_t{65535}));
  command->add_flag("--insecure-without-key", options->insecure_without_key,
                    "let other machines ask without an API key");
  command->callback([options, stop] { serve(*options, stop); });
}

}  // namespace predgen::cli
