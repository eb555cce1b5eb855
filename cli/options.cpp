#include "cli/command.h"

namespace predgen::cli {

void ModelOptions::add_to(CLI::App& command) {
  command.add_option("--model", model, kModelHelp)->required();
  command.add_option("--adapter", adapter, "PEFT adapter folder");
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--dtype", dtype, "auto, fp32 or bf16")->capture_default_str();
  command
      .add_option("--quantize", quantize,
                  "linear layers in 8 or 4 bits: none, int8 or int4; stored: in the bits that the "
                  "file has, as on a CPU without --dtype")
      ->capture_default_str();
  command.add_flag("--width-invariant", width_invariant,
                   "on a GPU, too, results do not depend on how many tokens share a pass: drafts "
                   "change no text, whatever the precision");
  command.add_option("--threads", threads, "CPU threads; 0: all cores")->capture_default_str();
}

void add_chat_template(CLI::App& command, std::string& file) {
  command.add_option("--chat-template", file, "Jinja file to use instead of the model's template");
}

void ConfigOptions::add_to(CLI::App& command) {
  command.add_option("--config", file, "YAML file; its first lines say what it is for")->required();
  command.add_option("overrides", overrides, "key.sub=value, stronger than the file");
}

}  // namespace predgen::cli
