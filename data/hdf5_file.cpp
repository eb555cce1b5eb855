#include "data/hdf5_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace predgen::data {

Mutex& hdf5_mutex() {
  static Mutex mutex;  // guards the library
  return mutex;
}

void Hdf5Handle::close(const std::string& what) {
  if (close_(std::exchange(id_, -1)) < 0) throw Error("HDF5: {} failed", what);
}

template <>
hid_t hdf5_type<uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
hid_t hdf5_type<int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
hid_t hdf5_type<int64_t>() {
  return H5T_NATIVE_INT64;
}

Hdf5Handle create_hdf5(const std::filesystem::path& file) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors become exceptions, not prints
  Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "H5Pcreate");
  H5Pset_obj_track_times(creation, false);
  return {H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT), H5Fclose,
          "creating " + file.string()};
}

UserError cannot_open(const std::filesystem::path& file) {
  const int reason = errno;
  const char* cure = reason == EMFILE ? " (ulimit -n allows too few)" : "";
  return UserError("{}: cannot be opened: {}{}", file.string(), std::strerror(reason), cure);
}

Hdf5Handle open_hdf5(const std::filesystem::path& file) {
  // The library does not report why it fails.
  const int probe = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (probe < 0) throw cannot_open(file);
  ::close(probe);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return {H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "opening " + file.string()};
}

template <typename T>
void write_column(hid_t file, const char* name, const std::vector<T>& values) {
  const hsize_t size = values.size();
  Hdf5Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "H5Screate");
  Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate");
  H5Pset_obj_track_times(creation, false);
  Hdf5Handle column(
      H5Dcreate2(file, name, hdf5_type<T>(), space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose,
      std::string("creating column ") + name);
  if (size > 0 &&
      H5Dwrite(column, hdf5_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    throw Error("HDF5: writing column {} failed (disk full?)", name);
  }
  column.close(std::string("closing column ") + name);
}

namespace {

/// Compressed columns are read, too, but not one that would fill the memory from a few bytes.
constexpr hsize_t kMostCompression = 1000;

void check_column(const char* name, hid_t column) {
  const Hdf5Handle creation(H5Dget_create_plist(column), H5Pclose, "H5Dget_create_plist");
  if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) != 0) {
    throw Error("column {} has its data in another file", name);
  }
  const Hdf5Handle space(H5Dget_space(column), H5Sclose, "H5Dget_space");
  const Hdf5Handle type(H5Dget_type(column), H5Tclose, "H5Dget_type");
  if (H5Sget_simple_extent_ndims(space) != 1 || H5Tget_class(type) != H5T_INTEGER) {
    throw Error("column {} is no flat list of whole numbers", name);
  }
  const auto size = static_cast<hsize_t>(H5Sget_simple_extent_npoints(space));
  if (size > H5Dget_storage_size(column) / H5Tget_size(type) * kMostCompression) {
    throw Error("column {} says it has {} entries, far more than it stores", name, size);
  }
}

}  // namespace

Hdf5Handle open_column(hid_t file, const char* name) {
  // A link to another file is refused before it is followed.
  H5L_info_t link{};
  if (H5Lget_info(file, name, &link, H5P_DEFAULT) >= 0 && link.type != H5L_TYPE_HARD) {
    throw Error("column {} is a link", name);
  }
  Hdf5Handle column(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose,
                    std::string("opening column ") + name);
  check_column(name, column);
  return column;
}

bool has_column(hid_t file, const char* name) { return H5Lexists(file, name, H5P_DEFAULT) > 0; }

int64_t column_size(hid_t column) {
  Hdf5Handle space(H5Dget_space(column), H5Sclose, "H5Dget_space");
  return H5Sget_simple_extent_npoints(space);
}

template <typename T>
std::vector<T> read_entries(hid_t column, int64_t begin, int64_t end) {
  if (begin < 0 || end < begin || end > column_size(column)) {
    throw Error("HDF5: no entries {} to {} in a column of {}", begin, end, column_size(column));
  }
  std::vector<T> values(static_cast<size_t>(end - begin));
  if (values.empty()) return values;
  const hsize_t start = static_cast<hsize_t>(begin), count = values.size();
  Hdf5Handle space(H5Dget_space(column), H5Sclose, "H5Dget_space");
  Hdf5Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, "H5Screate");
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &count, nullptr) < 0 ||
      H5Dread(column, hdf5_type<T>(), memory, space, H5P_DEFAULT, values.data()) < 0) {
    throw Error("HDF5: reading entries {} to {} failed", begin, end);
  }
  return values;
}

void write_text(hid_t file, const char* name, const std::string& text) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "H5Tcopy");
  H5Tset_size(type, text.size() + 1);
  H5Tset_cset(type, H5T_CSET_UTF8);
  Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
  Hdf5Handle attribute(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                       std::string("creating attribute ") + name);
  if (H5Awrite(attribute, type, text.c_str()) < 0) throw Error("HDF5: writing {} failed", name);
}

std::string read_text(hid_t file, const char* name) {
  Hdf5Handle attribute(H5Aopen(file, name, H5P_DEFAULT), H5Aclose,
                       std::string("opening attribute ") + name);
  Hdf5Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose, "H5Aget_space");
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
      H5Sget_simple_extent_npoints(space) != 1) {
    throw Error("HDF5: {} is not a text of a fixed length", name);
  }
  std::string text(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, text.data()) < 0) throw Error("HDF5: reading {} failed", name);
  return text.substr(0, text.find('\0'));
}

template void write_column(hid_t, const char*, const std::vector<uint8_t>&);
template void write_column(hid_t, const char*, const std::vector<int32_t>&);
template void write_column(hid_t, const char*, const std::vector<int64_t>&);
template std::vector<uint8_t> read_entries(hid_t, int64_t, int64_t);
template std::vector<int32_t> read_entries(hid_t, int64_t, int64_t);
template std::vector<int64_t> read_entries(hid_t, int64_t, int64_t);

}  // namespace predgen::data
