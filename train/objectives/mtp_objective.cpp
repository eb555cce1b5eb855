#include "train/objectives/mtp_objective.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace predgen::train {
namespace {

/// Whether token `index` of the record is a target.
bool is_target(const data::Record& record, int64_t index) {
  return index < std::ssize(record.tokens) && record.loss_mask[static_cast<size_t>(index)] != 0;
}

/// Places whose next two tokens are targets: the first is the model's own, the second the mask's.
std::vector<int64_t> places_of(const data::Record& record, int64_t most, uint64_t step_seed) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i + 2 < std::ssize(record.tokens); ++i) {
    if (is_target(record, i + 1) && is_target(record, i + 2)) places.push_back(i);
  }
  if (most == 0 || std::ssize(places) <= most) return places;
  Random random(step_seed, record.conversation_id, static_cast<uint64_t>(record.round));
  random.shuffle(places);
  places.resize(static_cast<size_t>(most));
  std::ranges::sort(places);
  return places;
}

/// Adds a row, number `index` of the batch.
void add_record(const data::Record& record, const MtpOptions& options, uint64_t step_seed,
                PackedBatch& packed, TaughtTerm& term) {
  const auto index = static_cast<int64_t>(packed.rows.size());
  TokenIds row = record.tokens;
  std::vector<Segment> segments;
  for (const int64_t place : places_of(record, options.places, step_seed)) {
    const auto begin = static_cast<int64_t>(row.size());
    int64_t count = 0;
    while (count < std::ssize(options.mask_tokens) && is_target(record, place + count + 2)) {
      term.students.push_back({index, begin + count});
      term.teachers.push_back({index, place + count + 1});
      term.position_weights.push_back(std::pow(options.distance_decay, static_cast<double>(count)));
      term.count += term.position_weights.back();
      ++count;
    }
    segments.push_back({begin, count, place + 1});
    row.insert(row.end(), options.mask_tokens.begin(), options.mask_tokens.begin() + count);
  }
  if (segments.empty()) return;
  packed.rows.push_back(std::move(row));
  packed.segments.push_back(std::move(segments));
}

}  // namespace

MtpObjective::MtpObjective(MtpOptions options) : options_(std::move(options)) {
  PREDGEN_CHECK(!options_.mask_tokens.empty(), "no mask tokens");
}

PackedBatch MtpObjective::pack(const Batch& batch, uint64_t step_seed) const {
  PackedBatch packed;
  packed.gates_adapter = true;
  TaughtTerm& term = packed.terms["mtp"];
  for (const data::Record& record : batch) {
    add_record(record, options_, step_seed, packed, term);
  }
  return packed;
}

PackedBatch MtpObjective::pack_held_out(const Batch& batch) const {
  return MtpObjective({.mask_tokens = options_.mask_tokens, .places = options_.places})
      .pack(batch, 0);
}

int64_t MtpObjective::longest_row(const data::RecordSize& size) const {
  // Earlier answers of a conversation may be targets, too.
  const int64_t places =
      options_.places == 0 ? size.tokens : std::min(options_.places, size.tokens);
  return size.tokens + places * std::ssize(options_.mask_tokens);
}

}  // namespace predgen::train
