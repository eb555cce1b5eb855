#pragma once

#include <vector>

#include "data/dataset_store.h"
#include "text/tokenizer.h"
#include "train/train_config.h"

namespace predgen::train {

/// UserError unless the run can learn from `dataset`: it has tokens to learn, trajectories and
/// answers where the objective needs them, and the ids of `tokenizer`, as `others` (held-out,
/// watched; null where there is none) have. Held-out records have answers, too. Without a tokenizer
/// (null) the datasets must have the same one.
void check_data(const TrainConfig& config, const data::DatasetReader& dataset,
                const std::vector<const data::DatasetReader*>& others, const Tokenizer* tokenizer);

/// UserError if a mask token of the run is one that its model lacks or that ends an answer.
void check_mask_tokens(const TrainConfig& config, const Tokenizer* tokenizer);

/// UserError if a record has a token, in its text or its blocks, that a model of `num_ids` lacks.
void check_ids(const data::Record& record, int64_t num_ids);

}  // namespace predgen::train
