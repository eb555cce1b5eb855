#pragma once

#include <string>

#include "core/json.h"

namespace predgen {

/// Limits of what is compiled: schemas, expressions and grammars may come from anybody.
constexpr size_t kMostFormBytes = 64 << 10;
constexpr int64_t kMostSchemaParts = 4096, kMostSchemaDepth = 32;
/// Of minItems, maxLength and the like; and of the counts in a pattern, multiplied.
constexpr int64_t kMostRepeats = 10000;

/// The part of a JSON schema that a grammar can hold to. UserError, with the keyword and its place,
/// for a schema that is malformed or beyond the limits and, if it `is_strict`, for what a grammar
/// cannot say; otherwise that is left out, which allows more. Keywords that change nothing (title,
/// description, default ..) are left out as well. `where`: the schema, for errors.
Json promised_schema(const Json& schema, const std::string& where, bool is_strict);

/// Such a part where objects have only the properties that it names, unless it says itself which
/// others there may be: models invent arguments.
Json only_named(Json schema);

/// UserError if an expression or a grammar is beyond the limits.
void check_form_text(const std::string& text, const std::string& where);

}  // namespace predgen
