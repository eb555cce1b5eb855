#pragma once

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/mutex.h"

namespace predgen::data {

/// The HDF5 library keeps global state: its callers must hold this lock.
Mutex& hdf5_mutex();

/// Owns an HDF5 identifier. `what` names the operation in the Error of an invalid one.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t), const std::string& what) : id_(id), close_(closer) {
    if (id < 0) throw Error("HDF5: {} failed", what);
  }
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  operator hid_t() const { return id_; }
  /// Closes now, so that an error is reported.
  void close(const std::string& what);

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

template <typename T>
hid_t hdf5_type();  // of T in memory

/// Creates a file without time stamps: the same contents give the same bytes.
Hdf5Handle create_hdf5(const std::filesystem::path& file);
/// "FILE: cannot be opened: Too many open files ..", by errno.
UserError cannot_open(const std::filesystem::path& file);
/// UserError if the system cannot open it, Error if it is not a complete HDF5 file.
Hdf5Handle open_hdf5(const std::filesystem::path& file);

/// A flat column, in one contiguous piece.
template <typename T>
void write_column(hid_t file, const char* name, const std::vector<T>& values);
/// Entries [begin, end) of a column of open_column(); Error if it has fewer.
template <typename T>
std::vector<T> read_entries(hid_t column, int64_t begin, int64_t end);
/// A flat column of whole numbers whose bytes are in this file. Error for another kind, for a link
/// or storage in another file, and for one that takes far less space than its size says.
Hdf5Handle open_column(hid_t file, const char* name);
int64_t column_size(hid_t column);
bool has_column(hid_t file, const char* name);

void write_text(hid_t file, const char* name, const std::string& text);  // an attribute
std::string read_text(hid_t file, const char* name);

}  // namespace predgen::data
