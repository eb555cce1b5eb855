#pragma once

#include <filesystem>
#include <memory>

#include "runtime/generate/answer_store.h"
#include "text/tokenizer.h"

namespace predgen::data {

/// Answers to draft from: all of a folder that `predgen data build` or `data trajectories` made
/// with this tokenizer, or of a file of conversations as `data build` reads them. UserError if it
/// is neither, is of another tokenizer, or has no answer.
std::shared_ptr<const AnswerStore> read_past_answers(const std::filesystem::path& source,
                                                     const Tokenizer& tokenizer);

}  // namespace predgen::data
