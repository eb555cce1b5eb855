#include "train/train.h"

#include <memory>

#include "cli/command.h"
#include "train/distributed/single_process_communicator.h"

namespace predgen {

void add_train(CLI::App& app, const std::stop_token& stop) {
  CLI::App& command = *app.add_subcommand("train", "trains a LoRA adapter or every weight");
  command.footer(
      "Examples:\n"
      "  predgen train --config configs/train/quickstart.yaml\n"
      "  predgen train --config configs/train/demo.yaml learning_rate=1e-3 --resume auto\n"
      "Ctrl-C finishes the step and writes a checkpoint; --resume auto goes on from there.");
  const auto config = std::make_shared<ConfigOptions>();
  config->add_to(command);
  const auto resume = std::make_shared<std::string>("none");
  command.add_option("--resume", *resume, "auto, none or the path of a step-... folder")
      ->capture_default_str();
  command.callback([config, resume, stop] {
    SingleProcessCommunicator communicator;
    train(TrainConfig::load(config->file, config->overrides), *resume, communicator, stop);
  });
}

}  // namespace predgen
