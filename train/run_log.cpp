#include "train/run_log.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <sstream>

#include "core/error.h"
#include "core/files.h"

namespace predgen::train {

MetricsLog::MetricsLog(const std::filesystem::path& file, int64_t resumed_step) : file_(file) {
  std::string kept;
  if (std::filesystem::exists(file)) {
    bool later = false;
    read_metrics(file, [&](const Json& line) {
      later = later || line.at("step").get<int64_t>() > resumed_step;
      if (!later) kept += line.dump() + "\n";
    });
  }
  write_file(file, kept);
  stream_.open(file, std::ios::app);
  if (!stream_) throw Error("cannot write {}", file.string());
}

void MetricsLog::write(const Json& line) {
  stream_ << line.dump() << "\n" << std::flush;
  if (!stream_) throw Error("cannot write {}: is the disk full?", file_.string());
}

void read_metrics(const std::filesystem::path& file, const std::function<void(const Json&)>& take) {
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("step") || !json.at("step").is_number_integer()) return;
    take(json);
  }
}

namespace {

std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82F63B78u : crc >> 1;
    table[i] = crc;
  }
  return table;
}

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::string masked_crc(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  return little_endian<uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// Protocol buffer fields: tag byte = field number * 8 + wire type (0 varint, 1 64-bit, 2 bytes,
// 5 32-bit).
std::string bytes_field(int number, const std::string& bytes) {
  std::string field = varint(static_cast<uint64_t>(number * 8 + 2));
  field.append(varint(bytes.size())).append(bytes);
  return field;
}

std::string event(double wall_time, int64_t step) {
  std::string fields("\x09");
  fields.append(little_endian(wall_time)).append("\x10");
  return fields.append(varint(static_cast<uint64_t>(step)));
}

}  // namespace

uint32_t crc32c(const std::string& bytes) {
  static const std::array<uint32_t, 256> table = make_crc_table();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<uint8_t>(byte)) & 255] ^ (crc >> 8);
  return ~crc;
}

TensorboardWriter::TensorboardWriter(const std::filesystem::path& folder, int64_t first_step,
                                     double wall_time)
    : file_(folder / fmt::format("events.out.tfevents.{:.0f}.{}.predgen", wall_time, first_step)) {
  make_folder(folder);
  stream_.open(file_, std::ios::binary | std::ios::trunc);
  write_record(event(wall_time, 0) + bytes_field(3, "brain.Event:2"));
  // SessionLog{status: START}: what older files hold from this step on is orphaned.
  write_record(event(wall_time, first_step) + bytes_field(7, "\x08\x01"));
}

void TensorboardWriter::scalar(const std::string& tag, int64_t step, double value,
                               double wall_time) {
  std::string entry = bytes_field(1, tag);
  entry.append("\x15").append(little_endian(static_cast<float>(value)));
  write_record(event(wall_time, step) + bytes_field(5, bytes_field(1, entry)));
}

void TensorboardWriter::write_record(const std::string& record) {
  const std::string length = little_endian<uint64_t>(record.size());
  stream_ << length << masked_crc(length) << record << masked_crc(record) << std::flush;
  if (!stream_) throw Error("cannot write {}: is the disk full?", file_.string());
}

namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& folder, int64_t resumed_step)
    : metrics_(folder / "metrics.jsonl", resumed_step),
      tensorboard_(folder / "tensorboard", resumed_step + 1, unix_time()) {}

void RunLog::write(int64_t step, const std::map<std::string, double>& scalars) {
  Json line{{"step", step}};
  for (const auto& [tag, value] : scalars) {
    line[tag] = value;
    tensorboard_.scalar(tag, step, value, unix_time());
  }
  metrics_.write(line);
}

}  // namespace predgen::train
