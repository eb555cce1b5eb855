#include "cli/command.h"

#include "cli/setting_flags.h"
#include "model/load_options.h"

namespace predgen::cli {

Settings settings_of(ModelOptions& options) {
  return {Setting("model", options.model, kModelHelp).needed(),
          adapter_setting(options.adapter),
          device_setting(options.device),
          dtype_setting(options.dtype),
          quantize_setting(options.quantize),
          state_memory_setting(options.state_memory),
          threads_setting(options.threads)};
}

void ModelOptions::add_to(CLI::App& command) { add_flags(command, settings_of(*this)); }

void add_chat_template(CLI::App& command, std::string& file) {
  add_flags(command, {chat_template_setting(file)});
}

void ConfigOptions::add_to(CLI::App& command) {
  command.add_option("--config", file, "YAML file; its first lines say what it is for")->required();
  command.add_option("overrides", overrides, "key.sub=value, stronger than the file");
}

}  // namespace predgen::cli
