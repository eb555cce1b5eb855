#include <arpa/inet.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/model_setup.h"
#include "cli/setting_flags.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/model_names.h"
#include "core/stop.h"
#include "core/text.h"
#include "core/version.h"
#include "data/repetition.h"
#include "hear/make_recogniser.h"
#include "model/device_memory.h"
#include "model/weights/weight_files.h"
#include "runtime/converse/session_options.h"
#include "runtime/converse/words_end.h"
#include "runtime/cost/engine_costs.h"
#include "runtime/engine/engine.h"
#include "runtime/generate/make_generator.h"
#include "runtime/generate/model_source.h"
#include "serve/http/http_server.h"
#include "serve/openai/completer.h"
#include "serve/openai/openai_api.h"
#include "serve/openai/server_tools.h"
#include "serve/prefix_store.h"
#include "serve/serve_config.h"
#include "serve/wyoming/wyoming_satellites.h"
#include "serve/wyoming/wyoming_server.h"
#include "text/tokenizer.h"
#include "voice/make_voice.h"

namespace predgen::cli {
namespace {

/// "http://127.0.0.1:8080", with brackets around an address of IPv6.
std::string address_of(const std::string& scheme, const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", scheme, is_v6 ? "[" + host + "]" : host, port);
}

/// The addresses at which other machines reach a server that listens at `host`: of all of this
/// machine's networks if it is 0.0.0.0 or ::, else itself. Possibly none.
std::vector<std::string> reachable_at(const std::string& host) {
  if (host != "0.0.0.0" && host != "::") return {host};
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr) {
      addresses.emplace_back(text.data());
    }
  }
  return addresses;
}

constexpr const char* kServeExamples = R"(
An assistant for other programs: speaks OpenAI's HTTP and Realtime APIs, by option Wyoming, too, and
has a page at /, /health and /metrics. It hears and speaks if the models for that are there. Its
address is the first line on stdout, as soon as it answers. Ctrl-C or SIGTERM lets answers under way
end.

Examples:
  predgen serve
  predgen serve --system-prompt "You are a butler. Answer in one sentence." --language de --tts espeak --voice de
  predgen serve --wyoming-port 10700
  predgen serve --satellite kitchen.local:10700
  predgen serve --model smollm2 --tts none --recogniser none             # text alone
  predgen serve --model qwen2.5-1.5b-instruct-q4_k_m --mcp examples/home.json
  predgen serve --config configs/runtime/serve.yaml max_sessions=4
  predgen serve --allowed-origin http://localhost:3000 --allowed-host pi.example.org
  curl http://127.0.0.1:8080/v1/models
)";

struct ServeOptions {
  ModelOptions model;
  std::string chat_template, draft_model, config;
  std::vector<std::string> overrides;
  serve::ServeConfig flags;  // what take_given() takes of it
  bool insecure_without_key = false;
  VoiceFlags voice;
};

serve::ServeConfig read_config(const CLI::App& command, ServeOptions& options) {
  serve::ServeConfig config = serve::read_serve_config(options.config, options.overrides);
  take_given(command, flagged(settings_of(options.flags)), flagged(settings_of(config)));
  serve::check_access(config, options.insecure_without_key);
  return config;
}

/// What clients call a model whose file or folder this is.
std::string model_name(const std::string& model) {
  const std::filesystem::path path = std::filesystem::canonical(model);
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

/// The recogniser of all conversations, and what to tell people about it.
struct Ears {
  std::string name{};  // as recognisers_named() has it; empty: nothing is heard
  MakeRecogniser make{};
  std::string language{};  // that it hears; empty: unknown
  std::string summary = "nothing (--recogniser none)";
};

/// "auto": base if it is there.
Ears load_ears(const HearingOptions& config) {
  const bool is_auto = config.recogniser == "auto";
  const std::string name = is_auto ? "base" : config.recogniser;
  if (name.empty() || name == "none") return {};
  try {
    Ears ears{.name = name,
              .make = recognisers_named(name, config.language),
              .language = language_heard(name, config.language)};
    const std::string language = ears.language.empty() ? "" : ", language " + ears.language;
    ears.summary = name + language + " (--recogniser)";
    return ears;
  } catch (const UserError& error) {
    if (!is_auto) throw;
    return {.summary = fmt::format("nothing: {}", error.what())};
  }
}

/// `draft_model`: null: none.
SessionConfig session_config(const serve::ServeConfig& config, const std::string& readout_of,
                             bool has_adapter, bool has_voice, Engine& engine, Engine* draft_model,
                             EngineLock& engine_lock) {
  const EngineLock::Hold hold(engine_lock);
  SessionOptions options = static_cast<const SessionOptions&>(config);
  options.draft_model = draft_model;
  options.end_readout = find_end_readout(readout_of, engine.model().vocab_size(), has_adapter);
  options.has_voice = has_voice;
  SessionConfig session = make_session_config(options, engine);
  if (!config.let_repeat) session.turn.is_stuck = data::repeats_itself;
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
      "conversations may take up to {:.1f} GiB of the {}'s memory as they grow, for {} tokens in "
      "all "
      "(pool_positions)",
      static_cast<double>(positions) * static_cast<double>(layout.bytes_per_position()) / kGiB,
      c10::DeviceTypeName(layout.options.device().type(), /*lower_case=*/true), positions);
  return positions;
}

/// The first passes take longer than others. Returns their costs, or `known` if it has any.
PassCosts warm_up(Engine& engine, EngineLock& engine_lock, const PassCosts& known) {
  const EngineLock::Hold hold(engine_lock);
  const int64_t widest = std::min<int64_t>(16, engine.model().max_positions() - 1);
  PassCosts costs = known.is_known() ? known : measure_costs(engine, widest);
  engine.share_fairly(costs.tokens_for(1), measure_reading(engine));
  return costs;
}

std::string voice_summary(const VoiceFlags& flags, const Voice* voice) {
  if (voice == nullptr) {
    return flags.tts == best_voice() ? "nothing: predgen-espeak is not there"
                                     : "nothing (--tts none)";
  }
  const bool is_second_best = flags.tts == "espeak" && best_voice() == "espeak";
  return fmt::format(
      "{} (--tts){}", voice->names().front(),
      is_second_best ? "; " + fetch_command("hibari") + " fetches a better one" : "");
}

/// Prints the addresses, one per line for programs, and what they offer for people.
void print_addresses(const serve::ServeConfig& config, const std::string& hears,
                     const std::string& speaks, int port, int wyoming_port) {
  std::string text = address_of("http", config.host, port) + "\n";
  if (wyoming_port > 0) text += address_of("tcp", config.wyoming.host, wyoming_port) + "\n";
  for (const std::string& host : reachable_at(config.host)) {
    const std::string here = address_of("http", host, port);
    text += fmt::format("  page        {}/\n", here);
    text += fmt::format("  OpenAI API  {}/v1  (model {}, {})\n", here, config.model_name,
                        config.api_keys_sha256.empty() ? "no key" : "with a key");
    text += fmt::format("  WebSocket   {}/v1/realtime\n", address_of("ws", host, port));
  }
  if (wyoming_port > 0) text += "  Wyoming     the second address, for Home Assistant\n";
  text += fmt::format("  hears       {}\n  speaks      {}\n", hears, speaks);
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

/// The folder of --prefix-cache; null: none is wanted. Runs a pass, which tells this machine's
/// results from others'. UserError as PrefixStore.
std::unique_ptr<serve::PrefixStore> open_prefix_store(const serve::ServeConfig& config,
                                                      const ModelOptions& model,
                                                      const Checkpoint& checkpoint, Engine& engine,
                                                      EngineLock& engine_lock) {
  if (config.prefix_cache.empty()) return nullptr;
  serve::KnownHashes known(std::filesystem::path(config.prefix_cache) / "weights.json");
  Hasher identity;  // files and settings, and what they compute on this machine
  identity.add(program_version()).add(known.hash(checkpoint.weight_files()));
  if (!model.adapter.empty()) identity.add(known.hash(weight_files(model.adapter)));
  identity.add(model.device).add(model.dtype).add(model.quantize);
  const EngineLock::Hold hold(engine_lock);
  if (engine.model().kv_layout().num_states == 0) {
    Sequence probe = engine.make_sequence(16);
    probe.append(TokenIds{1, 2, 3, 4, 5, 6, 7, 8});
    engine.run({.sequence = &probe});
    for (const auto& [keys, values] : probe.rows(7)) {
      for (const at::Tensor& side : {keys, values}) {
        identity.add({static_cast<const char*>(side.const_data_ptr()), side.nbytes()});
      }
    }
  }
  auto store = std::make_unique<serve::PrefixStore>(
      serve::PrefixStore::Options{.folder = config.prefix_cache,
                                  .max_bytes = std::llround(config.prefix_cache_gib * (1 << 30)),
                                  .identity = identity.hex()},
      engine.model().kv_layout());
  known.save();
  return store;
}

void serve(const CLI::App& command, ServeOptions& options, const std::stop_token& stop) {
  const c10::InferenceMode inference;
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may exit
  serve::ServeConfig config = read_config(command, options);
  const auto grace = std::chrono::seconds(std::llround(std::ceil(config.limits.grace_seconds)));
  allow_time_to_stop(grace + std::chrono::seconds(5));
  for (const std::string& one : config.wyoming.satellites) serve::satellite_address(one);
  serve::TcpServer::check_free(config.host, static_cast<int>(config.port));
  if (config.wyoming.port >= 0) {
    serve::TcpServer::check_free(config.wyoming.host, static_cast<int>(config.wyoming.port));
  }
  const std::unique_ptr<const Checkpoint> checkpoint = open_checkpoint(options.model.model);
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(checkpoint->read_tokenizer(options.chat_template));
  const std::unique_ptr<const Checkpoint> draft_checkpoint =
      open_draft_model(options.draft_model, *checkpoint, tokenizer.get());
  if (config.model_name.empty()) config.model_name = model_name(checkpoint->name());
  const std::unique_ptr<act::ToolServers> servers =
      start_tool_servers(config.tools.file, *tokenizer, checkpoint->name(), stop);
  spdlog::info("loading {}; the address follows when it answers", config.model_name);
  const std::unique_ptr<const Voice> voice = make_voice(options.voice.parse());
  const Ears ears = load_ears(config.realtime.hearing);
  if (ears.name.empty() && !config.wyoming.satellites.empty()) {
    throw UserError("--satellite needs a recogniser; this hears {}", ears.summary);
  }
  const GenerationDefaults defaults = read_generation_defaults(checkpoint->read_generation());
  EngineLock engine_lock;
  const std::shared_ptr<Transformer> model =
      set_up_model(*checkpoint, options.model, /*prepares_passes=*/true, {}, options.draft_model);
  const auto draft_model = set_up_draft_model(draft_checkpoint.get(), *model, options.model);
  const EngineConfig engine_config{.pass_tokens = config.pass_tokens,
                                   .pool_positions = choose_pool(config, *model),
                                   .engine_lock = &engine_lock,
                                   .has_thread = true};
  Engine engine(model, engine_config);
  std::optional<Engine> drafts;
  if (draft_model) drafts.emplace(draft_model, engine_config);
  const SessionConfig session = session_config(config, ears.name.empty() ? "" : checkpoint->name(),
                                               !options.model.adapter.empty(), voice != nullptr,
                                               engine, drafts ? &*drafts : nullptr, engine_lock);
  const PassCosts costs = warm_up(engine, engine_lock, session.generator.costs);
  if (config.realtime.drafts_yield) engine.yield_speculation(costs.tokens_for(1));

  SystemClock clock(stop);
  serve::ServeMetrics metrics;
  const std::unique_ptr<serve::PrefixStore> store =
      open_prefix_store(config, options.model, *checkpoint, engine, engine_lock);
  GeneratorConfig decoder{.name = session.generator.name, .costs = costs};
  decoder.draft_model = session.generator.draft_model;
  if (drafts) decoder.sources = {draft_source_of(*drafts)};
  serve::Completer completer(engine, engine_lock, *tokenizer, defaults, config, metrics, clock,
                             decoder, store.get());
  std::optional<serve::OwnTools> own_tools;
  std::optional<serve::ServerTools> tools;
  if (servers) {
    own_tools.emplace(serve::OwnTools{.runner = *servers, .config = config.tools});
    completer.set_tools(tools.emplace(*own_tools, metrics));
  }
  serve::SharedOpenings openings(engine, completer.prefixes());
  const serve::RealtimeHost host{
      .engine = engine,
      .engine_lock = engine_lock,
      .tokenizer = *tokenizer,
      .clock = clock,
      .metrics = metrics,
      .session = session,
      .offer = {.model = config.model_name,
                .voice = voice.get(),
                .max_new_tokens = config.max_new_tokens,
                .has_recogniser = !ears.name.empty(),
                .has_voice_activity = is_ours(ears.name),
                .waits = config.realtime.hearing.waits(),
                .has_tools = tokenizer->tool_format() != ToolFormat::kNone,
                .language = ears.language,
                .sampling = defaults,
                .may_sample = session.verifier.name == "greedy"},
      .make_recogniser = ears.make,
      .tools = own_tools ? &*own_tools : nullptr,
      .openings = &openings};
  serve::RealtimeApi realtime(host, config.realtime.max_sessions);
  serve::OpenAiApi api(completer, engine_lock, metrics, realtime, config.model_name,
                       serve::Access(config));
  serve::HttpServer server(
      config.host, static_cast<int>(config.port), config.limits,
      [&](const serve::HttpRequest& request, serve::HttpReply& reply, const std::stop_token& now) {
        api.handle(request, reply, now);
      },
      [&](const serve::HttpRequest& head) { return api.begin_upload(head); });
  std::optional<serve::WyomingSatellites> satellites;
  if (!config.wyoming.satellites.empty()) {
    satellites.emplace(config.wyoming.satellites, config.limits, host);
  }
  std::optional<serve::WyomingServer> wyoming;
  if (config.wyoming.port >= 0)
    wyoming.emplace(config.wyoming, config.limits, host, program_version());
  print_addresses(config, ears.summary, voice_summary(options.voice, voice.get()), server.port(),
                  wyoming ? wyoming->port() : 0);
  std::optional<serve::Announcement> announcement;
  if (wyoming && config.wyoming.announce && !serve::is_local(config.wyoming.host)) {
    announcement.emplace(fmt::format("predgen {}", wyoming->port()), wyoming->port());
    if (!announcement->is_made()) {
      spdlog::info(
          "the Wyoming service is not announced: avahi-publish-service (Debian's avahi-utils) is "
          "not there");
    }
  }
  std::jthread other, others;
  if (wyoming) other = std::jthread([&](const std::stop_token& now) { run(*wyoming, now); });
  if (satellites) others = std::jthread([&](const std::stop_token& now) { satellites->run(now); });
  const std::stop_callback on_stop(stop, [&] {
    other.request_stop();
    others.request_stop();
  });
  server.run(stop);
  throw_if_stopped(stop);
}

}  // namespace

void add_serve(CLI::App& app, const std::stop_token& stop) {
  CLI::App* command = app.add_subcommand("serve", "Answer other programs over HTTP");
  command->footer(kServeExamples);
  auto options = std::make_shared<ServeOptions>();
  options->model.model = "smollm2";
  options->voice.tts = best_voice();
  options->model.add_to(*command);
  command->get_option("--model")->required(false)->capture_default_str();
  options->voice.add_to(*command);
  add_chat_template(*command, options->chat_template);
  std::string past_answers;  // not offered
  add_flags(*command, only(draft_settings(options->draft_model, past_answers), {"draft_model"}));
  command->add_option("--config", options->config, "YAML file, such as configs/runtime/serve.yaml");
  command->add_option("overrides", options->overrides, "key.sub=value, stronger than the file");
  add_flags(*command, flagged(settings_of(options->flags)));
  command->add_flag("--insecure-without-key", options->insecure_without_key,
                    "let other machines ask without an API key");
  command->callback([command, options, stop] { serve(*command, *options, stop); });
}

}  // namespace predgen::cli
