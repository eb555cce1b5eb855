#include <c10/core/InferenceMode.h>

#include <memory>

#include "cli/command.h"
#include "cli/data_command.h"
#include "cli/model_setup.h"
#include "data/judge_builder.h"
#include "model/weights/weights_hash.h"
#include "text/tokenizer.h"

namespace predgen::cli {

void add_data_judge(CLI::App& data, const std::stop_token& stop) {
  auto options = std::make_shared<ConfigOptions>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = data.add_subcommand(
      "judge", "Conversations and model to questions whether a draft still fits (HDF5)");
  options->add_to(*command);
  command->add_flag("--json", *json, "one JSON document on stdout");
  command->footer("Example:\n  predgen data judge --config configs/data/demo_judge.yaml");
  command->callback([options, json, stop] {
    ConfigReader reader = ConfigReader::load(options->file, options->overrides);
    const data::JudgeBuildConfig config = data::JudgeBuildConfig::read(reader);
    reader.finish();
    const c10::InferenceMode inference;
    const auto checkpoint = open_checkpoint(config.model);
    const auto tokenizer = load_tokenizer(checkpoint->read_tokenizer(config.chat_template));
    Engine engine(set_up_model(*checkpoint, model_options(config)),
                  {.pass_tokens = config.batch_tokens});
    const Json manifest = data::build_judge_dataset(
        config, hash_weights(checkpoint->weight_files()), *tokenizer, engine, stop);
    print_dataset(config.output, manifest, *json);
  });
}

}  // namespace predgen::cli
