#include "data/dataset_builder.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <unordered_set>

#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/stop.h"
#include "data/dataset_store.h"
#include "data/drop_report.h"
#include "data/example_builder.h"
#include "data/hdf5_store.h"
#include "data/held_out.h"

namespace predgen::data {
namespace fs = std::filesystem;

namespace {

constexpr size_t kBatchRows = 512, kBatchBytes = 64 << 20;  // whichever is reached first

/// One row of a batch and its result.
struct Row {
  CorpusConversation conversation;
  std::string file;
  uint64_t index = 0;  // over all sources
  bool held_out = false, loses_system = false;
  std::vector<Record> records;
  uint64_t fingerprint = 0;        // of its conversation, if it has records to train on
  std::vector<std::string> drops;  // counter names, one per dropped example or conversation
  std::exception_ptr error;
};

size_t num_bytes(const CorpusConversation& conversation) {
  size_t bytes = 0;
  for (const Message& message : conversation.messages) bytes += message.content.size();
  return bytes;
}

/// The concatenated rows of all sources.
class Corpus {
 public:
  Corpus(const std::vector<fs::path>& files, BadRows bad_rows)
      : files_(files), bad_rows_(bad_rows) {}

  bool next(Row& row) {
    while (true) {
      if (!reader_) {
        if (next_file_ == files_.size()) return false;
        reader_ = open_conversations(files_[next_file_++], bad_rows_);
      }
      if (reader_->next(row.conversation)) {
        row.file = files_[next_file_ - 1].string();
        row.index = num_rows_++;
        return true;
      }
      num_bad_rows_ += reader_->num_bad_rows();
      reader_.reset();
    }
  }

  int64_t num_rows() const { return static_cast<int64_t>(num_rows_) + num_bad_rows_; }
  int64_t num_bad_rows() const { return num_bad_rows_; }

 private:
  std::vector<fs::path> files_;
  BadRows bad_rows_;
  std::unique_ptr<ConversationReader> reader_;
  size_t next_file_ = 0;
  uint64_t num_rows_ = 0;
  int64_t num_bad_rows_ = 0;
};

class DatasetBuild {
 public:
  DatasetBuild(const BuildConfig& config, const Tokenizer& tokenizer, const std::stop_token& stop)
      : config_(config),
        stop_(stop),
        examples_(tokenizer, config.system_prompt),
        held_out_share_(static_cast<uint64_t>(config.seed), config.held_out.fraction),
        held_out_prompts_(config.held_out.min_words, /*keeps_near=*/true) {
    files_ = expand_globs(config.sources);
    held_out_files_ = expand_globs(config.held_out.files);
    recipe_ = config.recipe();
    recipe_["tokenizer"] = tokenizer.content_hash();
    recipe_["sources"] = hash_files(files_);
    recipe_["held_out"]["files"] = hash_files(held_out_files_);
    recipe_["part"] = "train";
    held_out_recipe_ = recipe_;
    held_out_recipe_["part"] = "held_out";
  }

  BuildResult run() {
    const fs::path held_out_folder = config_.output / "held_out";
    const bool holds_out = config_.held_out.fraction > 0;
    if (dataset_is_complete(config_.output, recipe_) &&
        (!holds_out || dataset_is_complete(held_out_folder, held_out_recipe_))) {
      return result(/*already_complete=*/true);
    }
    const StoreOptions options{.records_per_shard = config_.records_per_shard, .resume = true};
    const auto writer = create_dataset(config_.output, recipe_, options);
    // The held-out part is finished first: the training part's manifest means that all is complete.
    std::unique_ptr<DatasetWriter> held_out_writer;
    if (holds_out && !dataset_is_complete(held_out_folder, held_out_recipe_)) {
      held_out_writer = create_dataset(held_out_folder, held_out_recipe_, options);
    }
    collect_held_out();
    write_all(*writer, held_out_writer.get());
    report_drops(counters(num_records_), config_, files_);
    if (held_out_writer) held_out_writer->finish(counters(num_held_out_records_));
    writer->finish(counters(num_records_));
    return result(/*already_complete=*/false);
  }

 private:
  BadRows bad_rows() const { return config_.skip_bad_rows ? BadRows::kSkip : BadRows::kFail; }

  BuildResult result(bool already_complete) const {
    return {.manifest = open_dataset(config_.output)->manifest(),
            .already_complete = already_complete};
  }

  void collect_held_out() {
    for (const fs::path& file : held_out_files_) held_out_prompts_.add_file(file);
    if (config_.held_out.fraction <= 0) return;
    Row row;
    for (Corpus corpus(files_, bad_rows()); corpus.next(row);) {
      if (!held_out_share_.count(row.conversation)) break;
    }
    held_out_share_.decide();
    for (Corpus corpus(files_, bad_rows()); corpus.next(row);) {
      if (row.index % kBatchRows == 0) throw_if_stopped(stop_);
      if (held_out_share_.holds(row.conversation)) held_out_prompts_.add(row.conversation);
    }
  }

  void write_all(DatasetWriter& writer, DatasetWriter* held_out_writer) {
    Corpus corpus(files_, bad_rows());
    Progress progress("data build", "rows", 0);
    progress.update(0);
    std::vector<Row> rows;
    bool more = true;
    while (more) {
      throw_if_stopped(stop_);
      rows.clear();
      for (size_t bytes = 0; rows.size() < kBatchRows && bytes < kBatchBytes;) {
        if (!(more = read_row(corpus, rows))) break;
        bytes += num_bytes(rows.back().conversation);
      }
      build_rows(rows);
      for (Row& row : rows) {
        keep(row, writer, held_out_writer);
      }
      num_rows_ = corpus.num_rows();
      num_bad_rows_ = corpus.num_bad_rows();
      progress.update(num_rows_, fmt::format("{} records", num_records_));
    }
  }

  bool read_row(Corpus& corpus, std::vector<Row>& rows) const {
    Row row;
    if (config_.max_conversations > 0 && corpus.num_rows() >= config_.max_conversations) {
      return false;
    }
    if (!corpus.next(row)) return false;
    rows.push_back(std::move(row));
    return true;
  }

  /// Rows are independent, so any number of threads gives the same records.
  void build_rows(std::vector<Row>& rows) const {
    const auto wanted = config_.threads > 0 ? static_cast<size_t>(config_.threads)
                                            : std::max(1u, std::thread::hardware_concurrency());
    const size_t num_threads = std::min(wanted, std::max<size_t>(1, rows.size()));
    const auto work = [&](size_t first) {
      for (size_t i = first; i < rows.size(); i += num_threads) {
        try {
          build_row(rows[i]);
        } catch (...) {
          rows[i].error = std::current_exception();
        }
      }
    };
    std::vector<std::jthread> threads;
    for (size_t t = 1; t < num_threads; ++t) threads.emplace_back(work, t);
    work(0);
  }

  void build_row(Row& row) const {
    if (const auto drop = check_conversation(row.conversation, config_.filters, config_.law)) {
      row.drops.push_back(drop_name(*drop));
      return;
    }
    row.held_out = held_out_share_.holds(row.conversation);
    make_records(row);
    row.loses_system = !row.records.empty() && examples_.replaces_system(row.conversation);
    if (row.held_out || row.records.empty()) return;
    row.fingerprint = conversation_fingerprint(row.conversation);
  }

  void make_records(Row& row) const {
    if (config_.law != ExampleLaw::kTruncated) {
      const bool is_alone = config_.law == ExampleLaw::kAlone;
      keep_example(
          row, is_alone ? examples_.alone(row.conversation) : examples_.whole(row.conversation));
      return;
    }
    for (int64_t e = 0; e < config_.examples_per_conversation; ++e) {
      // The e-th draw of a row does not depend on the number of draws.
      const Random random(static_cast<uint64_t>(config_.seed), "round",
                          row.index + (static_cast<uint64_t>(e) << 40));
      keep_example(row, examples_.truncated(row.conversation, random));
    }
  }

  void keep_example(Row& row, Record record) const {
    if (config_.filters.max_tokens > 0 &&
        static_cast<int64_t>(record.tokens.size()) > config_.filters.max_tokens) {
      row.drops.push_back("max_tokens");
      return;
    }
    if (!row.held_out) {
      const std::string overlap = overlap_name(row.conversation, record.round);
      if (!overlap.empty()) {
        row.drops.push_back(overlap);
        return;
      }
    }
    row.records.push_back(std::move(record));
  }

  /// Compares the prompts of rounds 0 to `last_round` with the held-out ones.
  std::string overlap_name(const CorpusConversation& conversation, int64_t last_round) const {
    int64_t round = 0;
    for (const Message& message : conversation.messages) {
      if (message.role != "user") continue;
      if (round++ > last_round) break;
      switch (held_out_prompts_.overlap(message.content)) {
        case PromptSet::Overlap::kExact:
          return "held_out_exact";
        case PromptSet::Overlap::kNormalised:
          return "held_out_normalised";
        case PromptSet::Overlap::kNear:
          return "held_out_near";
        case PromptSet::Overlap::kNone:
          break;
      }
    }
    return "";
  }

  void keep(Row& row, DatasetWriter& writer, DatasetWriter* held_out_writer) {
    if (row.error) {
      try {
        std::rethrow_exception(row.error);
      } catch (const UserError& error) {
        if (!config_.skip_bad_rows) throw bad_row(row.file, row.conversation.row, error);
        ++num_unusable_rows_;
        return;
      }
    }
    // The held-out part may contain duplicates; a training duplicate would weigh twice.
    if (!row.held_out && !row.records.empty() && !seen_.insert(row.fingerprint).second) {
      row.records.clear();
      row.drops.emplace_back("duplicate");
    }
    for (const std::string& drop : row.drops) ++drops_[drop];
    num_replaced_ += row.loses_system && !row.records.empty() ? 1 : 0;
    for (const Record& record : row.records) {
      int64_t& count = row.held_out ? num_held_out_records_ : num_records_;
      DatasetWriter* target = row.held_out ? held_out_writer : &writer;
      ++count;
      // Records already published by a killed build are produced again, in the same order.
      if (target != nullptr && count > target->size()) target->append(record);
    }
  }

  Json counters(int64_t num_records) const {
    Json dropped = Json::object();
    for (const std::string& name : drop_names()) {
      const auto found = drops_.find(name);
      dropped[name] = found == drops_.end() ? 0 : found->second;
    }
    return {{"rows_read", num_rows_},
            {"bad_rows", num_bad_rows_ + num_unusable_rows_},
            {"dropped", dropped},
            {"system_messages_replaced", num_replaced_},
            {"held_out_prompts", held_out_prompts_.size()},
            {"held_out_records", num_held_out_records_},
            {"records", num_records}};
  }

  const BuildConfig& config_;
  const std::stop_token stop_;
  ExampleBuilder examples_;
  HeldOutShare held_out_share_;
  PromptSet held_out_prompts_;
  std::vector<fs::path> files_, held_out_files_;
  Json recipe_, held_out_recipe_;
  std::map<std::string, int64_t> drops_;
  std::unordered_set<uint64_t> seen_;  // fingerprints of the training part
  int64_t num_rows_ = 0, num_bad_rows_ = 0, num_unusable_rows_ = 0, num_replaced_ = 0;
  int64_t num_records_ = 0, num_held_out_records_ = 0;
};

}  // namespace

BuildResult build_dataset(const BuildConfig& config, const Tokenizer& tokenizer,
                          const std::stop_token& stop) {
  return DatasetBuild(config, tokenizer, stop).run();
}

}  // namespace predgen::data
