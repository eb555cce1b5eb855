#pragma once

#include <functional>
#include <string>

#include "core/json.h"
#include "text/tokenizer.h"

namespace predgen {

/// From the "post_processor" of tokenizer.json: none, ByteLevel, TemplateProcessing,
/// BertProcessing, RobertaProcessing or a Sequence with one of these. Anything else is a UserError.
TextFrame read_post_processor(const Json& post_processor, const std::string& where);

/// From "add_bos_token" and "add_eos_token" of tokenizer_config.json, which count only for folders
/// without a tokenizer.json. `id_of` returns the id of the token that the config names under a key.
TextFrame read_added_ends(const Json& tokenizer_config, const std::string& where,
                          const std::function<TokenId(const char* key)>& id_of);

}  // namespace predgen
