#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "model/load_options.h"
#include "model/transformer.h"
#include "text/token_ids.h"

namespace predgen::cli {

/// LibTorch's CPU threads; 0 leaves its own choice. UserError if negative.
void set_num_threads(int64_t num_threads);

/// Sets the threads and loads `checkpoint` (opened once by the command from the options' `model`)
/// as the options say, with their adapter. Commands that only read weights hold a
/// c10::InferenceMode around this call and everything after it. A command that runs no short passes
/// in our kernels does not need the graphs that `prepares_passes` makes.
/// `draft_model`: kOwnLayer also loads the model's own layer. `guesses_for`: LoadOptions'.
std::unique_ptr<Transformer> set_up_model(const Checkpoint& checkpoint, const ModelOptions& options,
                                          bool prepares_passes = true,
                                          const LoadOptions::Progress& on_progress = {},
                                          const std::string& draft_model = {},
                                          Transformer* guesses_for = nullptr);

/// The draft model for a model with these options: loaded the same way, without an adapter. `draft`
/// null: the model's own layer, or null.
std::shared_ptr<const Transformer> set_up_draft_model(const Checkpoint* draft, Transformer& model,
                                                      ModelOptions options);

/// UserError, naming `where` ("row 3"), unless there is at least one id, every id is in the
/// vocabulary, and all fit into the model's positions.
void check_token_ids(TokenSpan tokens, const LanguageModel& model, const std::string& where);

}  // namespace predgen::cli
