#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "model/transformer.h"
#include "text/token_ids.h"

namespace predgen {

/// LibTorch's CPU threads; 0 leaves its own choice. UserError if negative.
void set_num_threads(int num_threads);

/// Sets the threads and loads the model that the options name, its adapter included. Commands that
/// only read weights hold a c10::InferenceMode around this call and everything after it.
std::unique_ptr<Transformer> set_up_model(const ModelOptions& options);

/// UserError, naming `where` ("row 3"), unless there is at least one id, every id is in the
/// vocabulary, and the ids plus `num_new` more fit into the model's positions.
void check_token_ids(TokenSpan tokens, const LanguageModel& model, const std::string& where,
                     int64_t num_new = 0);

}  // namespace predgen
