#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace predgen {

/// The whole file; UserError if it is missing, a folder or unreadable.
std::string read_file(const std::filesystem::path& file);

/// Writes under a temporary name, fsyncs, renames: a reader sees the old file or the new one.
/// Throws Error with the system's reason (disk full, no permission) and removes the temporary file.
void write_file(const std::filesystem::path& file, std::string_view contents);
/// For contents too large to hold in memory: `write` writes them to the stream.
void write_file(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

/// fsyncs `temporary`, renames it to `file` and fsyncs the folder.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& file);

/// Creates the folder and its parents; UserError if something else has that name.
void make_folder(const std::filesystem::path& folder);

/// A file that the configuration `config` names: `path`, or, if it is only there, where `path` is
/// beside the folder "configs" that `config` lies in.
std::filesystem::path path_beside_configs(const std::filesystem::path& path,
                                          const std::filesystem::path& config);

/// Expands ${NAME} and ${NAME:-default} from the environment; UserError if NAME has neither.
std::string expand_variables(std::string_view text);

}  // namespace predgen
