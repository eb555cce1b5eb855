#pragma once

#include <filesystem>
#include <memory>

#include "runtime/generate/answer_store.h"
#include "text/tokenizer.h"

namespace predgen::data {

/// Answers to draft from: all answers in a folder made by `predgen data build` or `data
/// trajectories` with this tokenizer, or in a file of conversations that `data build` can read.
/// UserError if `source` is neither, is for another tokenizer, or has no answer.
std::shared_ptr<const AnswerStore> read_past_answers(const std::filesystem::path& source,
                                                     const Tokenizer& tokenizer);

}  // namespace predgen::data
