#include <algorithm>

#include "core/error.h"
#include "data/dataset_store.h"

namespace predgen {
namespace {

class JoinedDataset : public DatasetReader {
 public:
  explicit JoinedDataset(const std::vector<std::filesystem::path>& folders) {
    PREDGEN_CHECK(!folders.empty(), "no dataset");
    manifest_ = Json::array();
    for (const std::filesystem::path& folder : folders) {
      parts_.push_back(open_dataset(folder));
      ends_.push_back(size() + parts_.back()->size());
      manifest_.push_back(parts_.back()->manifest());
    }
  }

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  const Json& manifest() const override { return manifest_; }

  Record read(int64_t index) const override {
    PREDGEN_CHECK(index >= 0 && index < size(), "record {} of {}", index, size());
    const auto part =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    return parts_[part]->read(index - (part == 0 ? 0 : ends_[part - 1]));
  }

 private:
  std::vector<std::unique_ptr<DatasetReader>> parts_;
  std::vector<int64_t> ends_;
  Json manifest_;
};

}  // namespace

std::unique_ptr<DatasetReader> open_datasets(const std::vector<std::filesystem::path>& folders) {
  return std::make_unique<JoinedDataset>(folders);
}

}  // namespace predgen
