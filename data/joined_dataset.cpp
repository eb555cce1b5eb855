#include "core/error.h"
#include "data/dataset_store.h"
#include "data/part_index.h"

namespace predgen::data {
namespace {

class JoinedDataset : public DatasetReader {
 public:
  explicit JoinedDataset(const std::vector<std::filesystem::path>& folders) {
    PREDGEN_CHECK(!folders.empty(), "no dataset");
    manifest_ = Json::array();
    for (const std::filesystem::path& folder : folders) {
      parts_.push_back(open_dataset(folder));
      index_.add(parts_.back()->size());
      manifest_.push_back(parts_.back()->manifest());
    }
  }

  int64_t size() const override { return index_.size(); }
  const Json& manifest() const override { return manifest_; }

  Record read(int64_t index) const override {
    const auto [part, place] = index_.find(index);
    return parts_[part]->read(place);
  }

  RecordSize size_of(int64_t index) const override {
    const auto [part, place] = index_.find(index);
    return parts_[part]->size_of(place);
  }

 private:
  std::vector<std::unique_ptr<DatasetReader>> parts_;
  PartIndex index_;
  Json manifest_;
};

}  // namespace

std::unique_ptr<DatasetReader> open_datasets(const std::vector<std::filesystem::path>& folders) {
  return std::make_unique<JoinedDataset>(folders);
}

}  // namespace predgen::data
