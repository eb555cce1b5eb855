#include "cli/setting_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "act/servers_file.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace predgen::cli {
namespace {

template <typename T>
void check_bounds(CLI::Option& option, const Bounds<T>& bounds) {
  const bool has_lowest = bounds.lowest > std::numeric_limits<T>::lowest();
  const bool has_highest = bounds.highest < std::numeric_limits<T>::max();
  if (has_highest || (has_lowest && bounds.lowest != 0 && bounds.lowest != 1)) {
    option.check(CLI::Range(bounds.lowest, bounds.highest));
  } else if (has_lowest) {
    option.check(bounds.lowest == 0 ? CLI::NonNegativeNumber : CLI::PositiveNumber);
  }
}

CLI::Option* add_flag(CLI::App& command, const Setting& setting) {
  const std::string names = setting.flag_names();
  const std::string& help = setting.help;
  return std::visit(
      Overloaded{[&](bool* value) { return command.add_flag(names, *value, help); },
                 [&]<typename T>(const Setting::Number<T>& number) {
                   CLI::Option* option =
                       number.value != nullptr
                           ? command.add_option(names, *number.value, help)->capture_default_str()
                           : command.add_option(names, *number.maybe, help);
                   check_bounds(*option, number.bounds);
                   return option;
                 },
                 [&](uint64_t* value) {
                   return command.add_option(names, *value, help)->capture_default_str();
                 },
                 [&](std::string* value) {
                   CLI::Option* option = command.add_option(names, *value, help);
                   return value->empty() ? option : option->capture_default_str();
                 },
                 [&](std::optional<std::string>* value) {
                   return command.add_option(names, *value, help);
                 },
                 [&](std::filesystem::path* value) {
                   return command.add_option_function<std::string>(
                       names, [value](const std::string& text) { *value = text; }, help);
                 },
                 [&](std::vector<std::string>* value) {
                   return command.add_option(names, *value, help)->allow_extra_args(false);
                 },
                 [&](const Setting::Word& word) {
                   const auto set = [word](const std::string& text) {
                     word.set(static_cast<size_t>(std::ranges::find(word.names, text) -
                                                  word.names.begin()));
                   };
                   return command.add_option_function<std::string>(names, set, help)
                       ->check(CLI::IsMember(word.names))
                       ->default_str(setting.value());
                 },
                 [&](const auto&) -> CLI::Option* { throw Error("{} is no flag", setting.name); }},
      setting.place);
}

void take(const Setting::Place& from, const Setting::Place& to) {
  std::visit(
      Overloaded{[&]<typename T>(const Setting::Number<T>& number) {
                   const auto& other = std::get<Setting::Number<T>>(to);
                   if (number.value != nullptr) *other.value = *number.value;
                   if (number.maybe != nullptr) *other.maybe = *number.maybe;
                 },
                 [&](const Setting::Word& word) { std::get<Setting::Word>(to).set(word.get()); },
                 [&]<typename T>(std::vector<T>* list) {
                   std::vector<T>& other = *std::get<std::vector<T>*>(to);
                   other.insert(other.end(), list->begin(), list->end());
                 },
                 [&]<typename T>(T* value) { *std::get<T*>(to) = *value; },
                 [](const auto&) { throw Error("a flag of many settings"); }},
      from);
}

}  // namespace

void add_flags(CLI::App& command, const Settings& settings, const std::string& group) {
  for (const Setting& setting : settings) {
    CLI::Option* option = add_flag(command, setting)->required(setting.is_needed);
    if (!group.empty()) option->group(group);
  }
}

void take_given(const CLI::App& command, const Settings& flags, const Settings& settings) {
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string names = flags[i].flag_names();
    if (command.count(names.substr(0, names.find(','))) > 0) {
      take(flags[i].place, settings.at(i).place);
    }
  }
}

void SamplingFlags::add_to(CLI::App& command, const char* top_k_name) {
  Settings settings =
      only(settings_of(*this), {"temperature", "top_k", "top_p", "min_p", "repetition_penalty"});
  settings[1] = settings[1].as(top_k_name);
  add_flags(command, unbounded(settings));
  add_flags(command, {{"seed", seed, "of the draws"}});
}

std::optional<SamplingConfig> SamplingFlags::parse(const GenerationSettings& settings) const {
  const GenerationDefaults defaults = read_generation_defaults(settings);
  const std::optional<SamplingConfig> config = choose_sampling(*this, defaults);
  if (config && config->temperature > 0 && !defaults.not_honoured.empty()) {
    throw UserError("{}: \"{}\" is not supported in sampling: remove it", settings.where,
                    defaults.not_honoured);
  }
  return config;
}

void add_mcp(CLI::App& command, std::string& file) {
  command.add_option(
      "--mcp", file,
      "A file of tool servers that the model may call, in the \"mcpServers\" form of "
      "other programs, such as examples/home.json");
}

std::unique_ptr<act::ToolServers> start_tool_servers(const std::string& file,
                                                     const Tokenizer& tokenizer,
                                                     const std::string& model,
                                                     const std::stop_token& stop) {
  if (file.empty()) return nullptr;
  const std::vector<act::ServerEntry> entries = act::read_servers_file(file);
  if (entries.empty()) throw UserError("{}: has no server, or all are disabled", file);
  if (tokenizer.tool_format() == ToolFormat::kNone) {
    throw UserError(
        "--mcp: the chat template of {} has calls in an unknown form: give another "
        "--chat-template, "
        "or a model such as Qwen2.5, Llama 3.1 or SmolLM3",
        model);
  }
  auto servers = std::make_unique<act::ToolServers>(entries, act::ToolLimits(), stop);
  std::string names;
  for (const act::Tool& tool : servers->tools()) {
    names = joined(names, ", ",
                   fmt::format("{} ({}{})", tool.name, act::to_string(tool.effects),
                               tool.asks ? ", asks" : ""));
  }
  spdlog::info("tools: {}", names.empty() ? "none" : names);
  return servers;
}

namespace {

/// A flag, and the setting of voices that it is.
struct VoiceFlag {
  const char* name;
  const char* setting;
  std::string VoiceFlags::*value;
};
constexpr VoiceFlag kVoiceFlags[] = {{"voice", "voice", &VoiceFlags::voice},
                                     {"tts_model", "model", &VoiceFlags::model},
                                     {"tts_codec", "codec", &VoiceFlags::codec},
                                     {"tts_language", "language", &VoiceFlags::language}};

const Setting* find_setting(const Settings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::string needs(const std::string& flag, const std::vector<std::string>& voices) {
  return fmt::format("{} needs --tts {}", flag, fmt::join(voices, " or --tts "));
}

/// UserError for flags that the chosen voice has not, or that it needs.
void check_flags(const VoiceFlags& flags,
                 const std::vector<std::pair<std::string, Settings>>& voices) {
  for (const VoiceFlag& flag : kVoiceFlags) {
    const bool is_given = !(flags.*flag.value).empty();
    const std::string name = Setting(flag.name, Settings()).flag_names();
    std::vector<std::string> having;
    for (const auto& [voice, settings] : voices) {
      const Setting* setting = find_setting(settings, flag.setting);
      if (setting == nullptr) continue;
      having.push_back(voice);
      if (voice == flags.tts && setting->is_needed && !is_given && flags.config.empty()) {
        throw UserError("--tts {} needs {}: {}", voice, name, setting->help);
      }
    }
    const bool has_it = std::ranges::count(having, flags.tts) > 0;
    if (is_given && !has_it) throw UserError("{}", needs(name, having));
  }
}

}  // namespace

std::string best_voice() {
  const VoiceKind best = default_voice_kind();
  for (const auto& [name, kind] : voice_kinds()) {
    if (kind == best) return name;
  }
  return "none";
}

void VoiceFlags::add_to(CLI::App& command) {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : voice_kinds()) kinds.push_back(name);
  Settings flags{{"tts", tts, kinds,
                  "Voice: hibari (English, any machine), piper (a voice of your own choice, any "
                  "machine), espeak (any machine and language), zonos (a GPU) or none"}};
  VoiceOptions options;
  const auto voices = settings_by_voice(options);
  for (const VoiceFlag& flag : kVoiceFlags) {
    std::string help;
    for (const auto& [name, settings] : voices) {
      const Setting* setting = find_setting(settings, flag.setting);
      if (setting) help += fmt::format("{}{}: {}", help.empty() ? "" : "\n", name, setting->help);
    }
    flags.emplace_back(flag.name, this->*flag.value, help);
  }
  flags.emplace_back("tts_config", config,
                     "YAML with all settings of the voice, as configs/runtime/hibari.yaml, "
                     "piper.yaml, espeak.yaml or zonos.yaml");
  add_flags(command, flags);
}

VoiceOptions VoiceFlags::parse() const {
  VoiceOptions options;
  for (const auto& [name, kind] : voice_kinds()) {
    if (name == tts) options.kind = kind;
  }
  const auto voices = settings_by_voice(options);
  check_flags(*this, voices);
  if (tts == "none" && !config.empty()) {
    throw UserError("{}", needs("--tts-config", {"hibari", "piper", "espeak", "zonos"}));
  }
  std::vector<std::string> overrides;  // flags come before the file
  for (const VoiceFlag& flag : kVoiceFlags) {
    const std::string& value = this->*flag.value;
    if (!value.empty()) overrides.push_back(fmt::format("{}={}", flag.setting, value));
  }
  for (const auto& [name, settings] : voices) {
    if (name != tts) continue;
    ConfigReader reader = config.empty() ? ConfigReader::parse("{}", "the --tts options", overrides)
                                         : ConfigReader::load(config, overrides);
    read_settings(reader, settings);
    reader.finish();
  }
  return options;
}

}  // namespace predgen::cli
