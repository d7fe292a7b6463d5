#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/checksum.hpp"
#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/reading/decompress.hpp"
#include "core/trace/reading/key_dictionary.hpp"
#include "core/trace/requests.hpp"

// Reads requests from trace files, in chunks, in bounded memory. This file is the
// interface of all formats, which are in core/trace/formats.
namespace mcsim {

// How to handle a line or record that contradicts the format.
enum class OnBadLine : std::uint8_t {
  kError,  // stop reading
  kSkip,   // drop, count and report it
};

// How to handle a request earlier than the one before it.
enum class OnUnsorted : std::uint8_t {
  kError,  // stop reading
  kKeep,   // return it unsorted; the caller sorts
};

// The constructor argument of every format, in addition to its own parameters.
struct ReaderContext {
  std::unique_ptr<ByteSource> source;
  std::string name;     // of the file, for messages; empty for the head of a file
  std::string vm_name;  // of the single VM of a file without VM names
  OnBadLine on_bad_line = OnBadLine::kError;
  OnUnsorted on_unsorted = OnUnsorted::kError;
  // Reads a pipe as its bytes arrive, in constant memory: chunks are small, and ids of text keys
  // are hashes. Requests before an error are returned before the error.
  bool is_live = false;
};

// The unit of a file in messages: "x.csv:17:", "x.bin: record 17:" or "t: row 17:".
enum class RecordUnit : std::uint8_t { kLine, kRecord, kRow };

// Rows that are not requests, and requests beyond the first of a row.
struct RowCounts {
  Count filtered = 0;  // not a request by definition of the format: waits, other events
  Count skipped = 0;   // not readable
  Count flushes = 0;
  Count repeated = 0;                   // further requests of rows with a repeat count
  std::vector<std::string> complaints;  // about the first skipped rows
};

inline constexpr std::uint64_t kMaxOffset = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kMaxLength = std::numeric_limits<std::uint32_t>::max();

class RequestReader {
 public:
  // Requests in a full chunk.
  static constexpr std::size_t kChunk = std::size_t{1} << 20;
  static constexpr std::size_t kLiveChunk = std::size_t{1} << 17;

  RequestReader(ReaderContext context, RecordUnit unit)
      : context_(std::move(context)), unit_(unit) {}
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  virtual ~RequestReader() = default;

  // Replaces `chunk` by the next requests, at most a full chunk, or none at the end. A file without
  // requests is an error. After an error the chunk holds the requests before it, and all later
  // calls return the same error.
  absl::Status next(Requests& chunk);

  // Complete after next() has reached the end.
  virtual TimeBase time_base() const = 0;
  // Whether the file has lengths of requests; otherwise each request is one block.
  virtual bool has_lengths() const { return true; }
  virtual TraceKind kind() const { return TraceKind::kBlocks; }
  // Whether keys of objects are text: then ids are positions in keys(), or hashes if the source is
  // live. Otherwise keys are numbers.
  virtual bool has_text_keys() const { return false; }
  const std::deque<std::string>& vms() const { return vms_.keys(); }
  const KeyDictionary& keys() const { return keys_; }

  const RowCounts& rows() const { return rows_; }

  // Warnings about what the file has and the requests lack. Complete at the end.
  virtual std::vector<std::string> notes() const { return {}; }

  // Whether column names in the file belong to the format.
  virtual bool has_known_names() const { return false; }

  // Whether next() reached the end without any request or bad line.
  bool is_empty() const { return is_empty_; }

  // Whether any request was earlier than the one before it (only with kKeep).
  bool unsorted() const { return unsorted_; }

  // Returns the number of a VM; a new name gets a new number.
  absl::StatusOr<VmId> vm_of(std::string_view name);
  std::optional<VmId> known_vm(std::string_view name) const {
    const auto number = vms_.find(name);
    return number ? std::optional(static_cast<VmId>(*number)) : std::nullopt;
  }
  // Returns what stands for an object's key in the offset of a request until the chunk is
  // complete; then it is the key's id.
  std::uint64_t mention(std::string_view key) {
    if (context_.is_live) return checksum(std::as_bytes(std::span(key)), 0);
    return keys_.mention(key);
  }

  // Assigns all requests to the context's VM, number 0, because the file has no VM names.
  void use_single_vm() {
    vms_.id_of(context_.vm_name);
    names_vms_ = false;
  }
  // Whether the content has VM names; otherwise the VM's name is that of the file.
  bool names_vms() const { return names_vms_; }

  // Bytes of the file read so far, for progress.
  std::uint64_t consumed() const {
    return context_.source == nullptr ? 0 : context_.source->consumed();
  }

 protected:
  // Appends requests until the chunk is full or the file ends.
  virtual absl::Status fill(Requests& chunk) = 0;

  // Handles line or record `number`, which contradicts the format: OK if it is to be skipped.
  absl::Status reject(Count number, const std::string& complaint);

  // Checks the time `at` of the request just read in line or record `number`.
  absl::Status check_order(Count number, Nanoseconds at) {
    if (at >= last_time_) [[likely]] {
      last_time_ = at;
      return absl::OkStatus();
    }
    return out_of_order(number, at);
  }

  // The beginning of a message: "x.csv:17".
  std::string place(Count number) const;

  // Replaces mentions by ids. If any request of a chunk has a mention, all have.
  void set_ids(Requests& chunk) {
    const std::vector<std::uint64_t> ids = keys_.take_ids();
    if (ids.empty()) return;
    for (std::uint64_t& offset : chunk.offset) offset = ids[offset];
  }

  // Counts requests that next() did not return.
  void note_requests(Count count) { requests_ += count; }
  void count_filtered() { ++rows_.filtered; }
  void count_flush() { ++rows_.flushes; }
  void count_repeated(Count times) { rows_.repeated += times; }
  // Notes an event (Q, D or C) that would be a request with another parameter.
  void note_other_event(char event) {
    constexpr std::string_view kEvents = "QDC";
    const bool is_known = kEvents.find(event) != std::string_view::npos;
    if (is_known && other_events_.find(event) == std::string::npos) other_events_ += event;
  }

  std::size_t full_chunk() const { return context_.is_live ? kLiveChunk : kChunk; }

  ReaderContext context_;

 private:
  absl::Status read(Requests& chunk);
  absl::Status out_of_order(Count number, Nanoseconds at);

  RecordUnit unit_;
  KeyDictionary vms_;
  KeyDictionary keys_;
  RowCounts rows_;
  Count requests_ = 0;
  Nanoseconds last_time_ = std::numeric_limits<Nanoseconds>::min();
  bool unsorted_ = false;
  bool is_empty_ = false;
  std::string other_events_;
  bool names_vms_ = true;
  absl::Status failed_;  // the first error, possibly after requests that were returned
};

// The beginning of a file, uncompressed, for format detection.
struct Head {
  static constexpr std::size_t kMost = 64 * 1024 + 2;  // the longest line and its end
  std::string bytes;
  bool whole = false;  // whether it is the complete file
};

// How well a file's beginning fits a format, from worst to best.
enum class Fit : std::uint8_t {
  kNo,
  kUnopposed,  // nothing confirms or contradicts the format, such as comments only
  kIntegers,   // integers without structure, which any bytes could be
  kUncertain,  // the user must state the format: most signs fit, one does not
  kPartial,    // the first records fit, and a later one contradicts the format
  kPossible,
  kCertain
};

struct Guess {
  std::string format;
  Fit fit = Fit::kNo;
  std::string objection;     // if kNo, kUncertain or kPartial: the contradiction to the format
  std::size_t requests = 0;  // read before the objection, or records
  absl::Status exhausted{};  // if memory ran out
  bool needs_order = false;  // the fit rests on times in order, which must hold for all of the file
};

// Tests a format: the result is `fit` if `reader` can read the head. `more`: the file is longer.
Guess guess_by_trial(std::string format, Fit fit, RequestReader& reader, bool more);

// "web_0" for "traces/web_0.csv.gz": a file's name up to its first dot.
std::string vm_name_of(std::string_view path);

}  // namespace mcsim
