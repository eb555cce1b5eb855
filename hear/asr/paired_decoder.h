#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hear/asr/decoder.h"

namespace predgen::ears {

/// A decoder that takes another one's text as a draft, which it verifies.
class DraftedDecoder : public Decoder {
 public:
  /// Of the next decode of the job's segment.
  virtual void draft(const DecodeJob& job, const std::string& text) = 0;
};

/// Two recognisers of one transcript. While somebody speaks, a fast one hears again and again, and
/// a careful one now and then: its words replace the fast one's, which go on behind them. At pauses
/// and ends, the fast one's text is final if the two agree so far as the careful one has heard, and
/// the fast one is sure of each word behind that; else the careful one decodes. What the fast one
/// heard is its draft. Where doubts are known before a pause, the careful one decodes at once. A
/// word keeps the spelling with which it was first told.
class PairedDecoder : public Decoder {
 public:
  PairedDecoder(std::unique_ptr<Decoder> fast, std::unique_ptr<DraftedDecoder> careful)
      : fast_(std::move(fast)), careful_(std::move(careful)) {}

  DecoderPace pace() const override;
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) override;
  void forget(uint32_t stream) override;

  // Samples of a segment before the careful one hears it, and between two times.
  static constexpr int64_t kFirstCheck = kRate * 6 / 5, kNextCheck = kRate * 4 / 5;

 private:
  /// What is known of a stream's segment.
  struct Heard {
    int64_t segment = -1;
    int64_t num_checked = 0;           // samples that the careful one has heard
    std::string text{};                // that was told last
    std::string checked{};             // of the careful one, without words that more sound changes
    std::vector<std::string> words{};  // of that, bare
    bool is_doubtful = false;          // early words of the last text of the fast one are
  };

  std::optional<Decoded> decode_carefully(const DecodeJob& job, Heard& known,
                                          const std::stop_token& stop);
  std::optional<Decoded> decode_fast(const DecodeJob& job, Heard& known,
                                     const std::stop_token& stop);

  const std::unique_ptr<Decoder> fast_;
  const std::unique_ptr<DraftedDecoder> careful_;
  std::map<uint32_t, Heard> heard_;  // by stream
};

}  // namespace predgen::ears
