#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "core/edit_distance.h"
#include "core/error.h"
#include "core/setting.h"
#include "data/build_config.h"
#include "evaluate/eval_config.h"
#include "model/load_options.h"
#include "runtime/converse/tool_round_options.h"
#include "runtime/generate/generation_defaults.h"
#include "runtime/generate/make_generator.h"
#include "serve/serve_config.h"
#include "train/train_settings.h"

namespace predgen::cli {
namespace {

constexpr const char* kSettingsExamples = R"(
Without a NAME: the page docs/settings.md. With one: a file of all its settings, with what they mean.

Examples:
  predgen settings
  predgen settings serve > serve.yaml
  predgen settings train
)";

constexpr const char* kPageHead = R"(# All settings

`predgen settings` writes this page, and `predgen settings NAME` a file with all settings of one of its
sections. In a file, `a.b` is the key `b` of the section `a`; on the command line it is `a.b=value`. Flags
stand behind the name, and those of `chat` and `talk` are `--the-name`.
)";

/// Settings that belong together, and whose they are.
struct Group {
  std::string name, purpose;
  Settings settings;
};

/// What settings are shown of: the defaults, and an example of what must be given.
struct Shown {
  ModelOptions model;
  SessionOptions session;
  ToolRoundOptions tools;
  AskedSampling sampling;
  std::string draft_model, past_answers, chat_template;
  HearingOptions hearing;
  serve::ServeConfig server;
  VoiceOptions voices;
  evaluate::EvalConfig eval;
  evaluate::TurnSetConfig conversations{.kind = evaluate::TurnSetKind::kConversations};
  evaluate::TurnSetConfig exams{.kind = evaluate::TurnSetKind::kGsm8k};
  evaluate::TurnSetConfig requests{.kind = evaluate::TurnSetKind::kTools};
  data::BuildConfig build;
  data::TrajectoryConfig trajectories;
  train::TrainConfig training;

  std::vector<Group> groups();
};

std::vector<Group> Shown::groups() {
  using train::ObjectiveKind;
  voices.piper.voice = "joe";
  voices.zonos.model = "models/Zonos-v0.1-transformer";
  const Settings objectives =
      together({{train::kind_setting(training.objective)},
                settings_of(training.objective.consistency, ObjectiveKind::kCllm),
                only(settings_of(training.objective.mtp), {"mask_tokens", "places"})});
  std::vector<Group> all{
      {"conversation",
       "Flags of `predgen chat` and `predgen talk`; `turn_draft_tokens` is a key of serve alone",
       together({settings_of(model),
                 settings_of(session),
                 settings_of(tools),
                 draft_settings(draft_model, past_answers),
                 {chat_template_setting(chat_template)},
                 settings_of(hearing)})},
      {"sampling",
       "Fields of requests and of Realtime's `session.update`, and flags of `predgen chat`,\n"
       "`talk` and `generate` but for the last two (in chat and talk `--sampling-top-k`)",
       settings_of(sampling)},
      {"serve", "`predgen serve --config FILE`, as `configs/runtime/serve.yaml`",
       settings_of(server)}};
  for (const auto& [name, settings] : settings_by_voice(voices)) {
    all.push_back(
        {name, fmt::format("`--tts {0} --tts-config FILE`, `speech.{0}` of eval", name), settings});
  }
  const std::vector<Group> runs{
      {"eval", "`predgen eval --config FILE`, as `configs/eval/sgd_dev.yaml`", settings_of(eval)},
      {"eval-conversations", "`turns` of eval, whose kind is conversations",
       settings_of_kind(conversations)},
      {"eval-exams", "`turns` of eval, whose kind is gsm8k or mmlu_pro", settings_of_kind(exams)},
      {"eval-tools", "`turns` of eval, whose kind is tools", settings_of_kind(requests)},
      {"build", "`predgen data build --config FILE`, as `configs/data/own.yaml`; `build` of train",
       settings_of(build)},
      {"trajectories",
       "`predgen data trajectories --config FILE`, as `configs/data/own_trajectories.yaml`",
       settings_of(trajectories)},
      {"train", "`predgen train --config FILE`, as `configs/train/own.yaml`",
       together({model_settings(training),
                 lora_settings(training),
                 base_settings(training),
                 {{"objective", objectives}},
                 run_settings(training),
                 {{"watch", watch_settings(training)}}})}};
  all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

void print_settings(const std::string& name) {
  Shown shown;
  std::string page = kPageHead;
  std::vector<std::string> names;
  for (const Group& group : shown.groups()) {
    if (group.name == name) {
      std::printf("%s", settings_yaml(group.settings).c_str());
      return;
    }
    names.push_back(group.name);
    page += fmt::format("\n## {}\n\n{}.\n\n{}", group.name, group.purpose,
                        settings_table(group.settings));
  }
  if (!name.empty()) throw UserError("{}: has no settings; {}", name, suggest(name, names));
  std::printf("%s", page.c_str());
}

}  // namespace

void add_settings(CLI::App& app, const std::stop_token&) {
  CLI::App* command = app.add_subcommand("settings", "All settings, and what they mean");
  command->footer(kSettingsExamples);
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "serve, eval, train, or another section of the page");
  command->callback([name] { print_settings(*name); });
}

}  // namespace predgen::cli
