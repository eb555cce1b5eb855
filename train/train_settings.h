#pragma once

#include "core/setting.h"
#include "train/train_config.h"

namespace predgen::train {

// The settings of configs/train/*.yaml, in the order in which they are read: what is there depends
// on those before.

Settings model_settings(TrainConfig& config);
/// Of an adapter.
Settings lora_settings(TrainConfig& config);
Settings base_settings(TrainConfig& config);
// The section `objective`: its kind, and what mtp or another one has.
Setting kind_setting(ObjectiveConfig& config);
Settings settings_of(MtpOptions& options);
Settings settings_of(ConsistencyOptions& options, ObjectiveKind kind);
Settings run_settings(TrainConfig& config);
/// The section `watch`.
Settings watch_settings(TrainConfig& config);

}  // namespace predgen::train
