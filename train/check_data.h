#pragma once

#include <vector>

#include "data/dataset_store.h"
#include "model/model_config.h"
#include "text/tokenizer.h"
#include "train/train_config.h"

namespace predgen::train {

/// UserError unless the run can learn from `dataset`: it has target tokens, trajectories and
/// answers where the objective needs them, and was made with `tokenizer`, and so were `others`
/// (held-out, watched; null if absent). Held-out records must have answers, too. If `tokenizer` is
/// null, all datasets must share one tokenizer.
void check_data(const TrainConfig& config, const data::DatasetReader& dataset,
                const std::vector<const data::DatasetReader*>& others, const Tokenizer* tokenizer);

/// UserError if a mask token of the run is one that its model lacks or that ends an answer.
void check_mask_tokens(const TrainConfig& config, const Tokenizer* tokenizer);

/// UserError if the objective or a record of `datasets` (null if absent) has several continuations
/// of a text in a row, which a layer that keeps a state cannot read.
void check_layers(const TrainConfig& config, const ModelConfig& model,
                  const std::vector<const data::DatasetReader*>& datasets);

/// UserError if a record has a token, in its text or its blocks, that a model of `num_ids` lacks.
void check_ids(const data::Record& record, int64_t num_ids);

}  // namespace predgen::train
