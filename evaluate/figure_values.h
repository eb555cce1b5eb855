#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

// Values of a results.json, which may lack keys.

/// Null where a key of the path is missing.
const Json& at_path(const Json& object, std::initializer_list<std::string> path);
/// The number there, else nullopt.
std::optional<double> number_at(const Json& object, std::initializer_list<std::string> path);
/// The string there, else empty.
std::string text_at(const Json& object, std::initializer_list<std::string> path);

/// The set that a configuration (YAML) names, for results.json: "kind" and "file", "" where they
/// cannot be read; "paper", what the paper calls it in small letters (lmsys, mt_bench, gsm8k,
/// mmlu_pro), "" for others; "name", for people.
Json describe_set(const std::string& config);

/// Adds to a run of results.json what only pictures show, from the run's rows:
///   of each method "intervals" (Estimates of the means of "audio_latency" and "judge_grade", and
///   of
///     "share_of_values_repeated"; null without values) and "latency_parts" (mean seconds of the
///     four parts of the first sound's latency, over turns with all of them; null without one);
///   "rounds": for each turn of a conversation, the fourth and later ones together, the share of
///     turns by "passes", their mean and "n", by method;
///   "ttfs_by": Estimates of the mean TTFS by method, for groups of turns by "words" of the prompt
///     (about as many turns in each; empty for fewer than eight turns, or one length) and by
///     "revised_share", the words that a later transcript took back (null where none is recorded).
void add_figure_values(Json& run, const std::vector<const Json*>& rows);

/// Whether a row of a results.json's "turns" belongs to this one of its runs.
bool is_of_run(const Json& row, const Json& run);

/// Renames what older versions wrote as "price" and "draft_price".
void accept_old_names(Json& report);

/// The same for every run of a results.json, and its "set" (describe_set()): older versions wrote
/// neither, and rows may have been graded since.
void complete_report(Json& report);

}  // namespace predgen::evaluate
