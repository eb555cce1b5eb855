#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "act/servers/tool_servers.h"
#include "cli/command.h"
#include "core/setting.h"
#include "runtime/generate/generation_defaults.h"
#include "text/tokenizer.h"
#include "voice/make_voice.h"

namespace predgen::cli {

/// Offers settings as flags, with their help and defaults; what is given is written where the
/// settings are. `group`: of --help; empty: the usual one.
void add_flags(CLI::App& command, const Settings& settings, const std::string& group = "");

/// Values that `command` was given by `flags` replace those of `settings`, the same ones of another
/// struct, in the same order; lists grow by them.
void take_given(const CLI::App& command, const Settings& flags, const Settings& settings);

struct SamplingFlags : AskedSampling {
  /// `top_k_name`: --top-k, unless the command has another flag of that name.
  void add_to(CLI::App& command, const char* top_k_name);
  /// As choose_sampling() has it, with these defaults. UserError for a value out of range, or, when
  /// sampling, a field of the defaults that is not honoured.
  std::optional<SamplingConfig> parse(const GenerationSettings& settings) const;
};

/// --mcp FILE.
void add_mcp(CLI::App& command, std::string& file);

/// The servers of `file`, all of which are there and have listed their tools; null: it is empty.
/// What they offer is logged. UserError for a mistake in it, a server that is not there, and a
/// model whose chat template has no tools; `model`: its name.
std::unique_ptr<act::ToolServers> start_tool_servers(const std::string& file,
                                                     const Tokenizer& tokenizer,
                                                     const std::string& model,
                                                     const std::stop_token& stop);

/// The name of default_voice_kind().
std::string best_voice();

/// The options of every command that speaks.
struct VoiceFlags {
  std::string tts = "none";
  std::string voice, language, model, codec, config;

  void add_to(CLI::App& command);
  /// UserError for flags that the chosen voice does not support.
  VoiceOptions parse() const;
};

}  // namespace predgen::cli
