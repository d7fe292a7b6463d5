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
#include "core/base/registry.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/decompress.hpp"
#include "core/trace/key_dictionary.hpp"
#include "core/trace/requests.hpp"

// From trace files to requests, in chunks, in bounded memory. A format is one
// header in core/trace/formats and one word in its list, all.hpp; this file is
// what the outside sees of them.
namespace mcsim {

// A line, or a record, that contradicts the format.
enum class OnBadLine : std::uint8_t {
  kError,  // stops the reading
  kSkip,   // is left out, counted, and reported
};

// A request earlier than the one before it.
enum class OnUnsorted : std::uint8_t {
  kError,  // stops the reading
  kKeep,   // is handed out where it stands: the caller sorts
};

// What every format is built with, beside its own parameters.
struct ReaderContext {
  std::unique_ptr<ByteSource> source;
  std::string name;     // of the file, as messages say it; none for the head of one
  std::string vm_name;  // of the one VM of a file that names none
  OnBadLine on_bad_line = OnBadLine::kError;
  OnUnsorted on_unsorted = OnUnsorted::kError;
  // Reads a pipe as its bytes come, in constant memory. Chunks are small, and ids of text keys are
  // hashes. Requests before an error are returned before the error.
  bool is_live = false;
};

// What a file consists of, for messages: "x.csv:17:", "x.bin: record 17:" or "t: row 17:".
enum class RecordUnit : std::uint8_t { kLine, kRecord, kRow };

// Rows that are not requests, and requests that rows stand for beyond the first.
struct RowCounts {
  Count filtered = 0;  // by definition of the format no request: waits, other events
  Count skipped = 0;   // unreadable
  Count flushes = 0;
  Count repeated = 0;  // requests of rows with a repeat count, without the first of each
  std::vector<std::string> complaints;  // about the first skipped ones
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

  // Replaces `chunk` by the next requests, at most a full chunk; by none at the end.
  // A file without any request is an error. After an error the chunk holds what
  // came before it.
  absl::Status next(Requests& chunk);

  // These are complete once next() has come to the end.
  virtual TimeBase time_base() const = 0;
  // Whether the file tells how long requests were; else each is a block.
  virtual bool has_lengths() const { return true; }
  virtual TraceKind kind() const { return TraceKind::kBlocks; }
  // Whether keys are positions in keys(); else they are numbers.
  virtual bool has_text_keys() const { return false; }
  const std::deque<std::string>& vms() const { return vms_.keys(); }
  const KeyDictionary& keys() const { return keys_; }

  const RowCounts& rows() const { return rows_; }

  // Whether names in the file are those of columns that the format has.
  virtual bool has_known_names() const { return false; }

  // Whether next() came to the end of it and met neither a request nor a bad line.
  bool is_empty() const { return is_empty_; }

  // Whether some request was earlier than the one before it (kKeep only).
  bool unsorted() const { return unsorted_; }

  // The number of a VM, which is new if its name is.
  absl::StatusOr<VmId> vm_of(std::string_view name);
  std::optional<VmId> known_vm(std::string_view name) const {
    const auto number = vms_.find(name);
    return number ? std::optional(static_cast<VmId>(*number)) : std::nullopt;
  }
  // The id of an object's key.
  std::uint64_t id_of(std::string_view key) {
    if (context_.is_live) return checksum(std::as_bytes(std::span(key)), 0);
    return keys_.id_of(key);
  }

  // The file names no VM: all is the context's, number 0.
  void name_the_only_vm() {
    vms_.id_of(context_.vm_name);
    names_vms_ = false;
  }
  // Whether the content names the VMs; else the file's name does.
  bool names_vms() const { return names_vms_; }

  // Bytes of the file read so far, for progress.
  std::uint64_t consumed() const {
    return context_.source == nullptr ? 0 : context_.source->consumed();
  }

 protected:
  // Appends requests until the chunk is full or the file at its end.
  virtual absl::Status fill(Requests& chunk) = 0;

  // Line or record `number` contradicts the format: OK if it is to be left out.
  absl::Status reject(Count number, const std::string& complaint);

  // `at` is the time of the request in line or record `number`, just read.
  absl::Status check_order(Count number, Nanoseconds at) {
    if (at >= last_time_) [[likely]] {
      last_time_ = at;
      return absl::OkStatus();
    }
    return out_of_order(number, at);
  }

  // "x.csv:17", the beginning of a message.
  std::string place(Count number) const;

  // Requests that did not come through next().
  void note_requests(Count count) { requests_ += count; }
  void count_filtered() { ++rows_.filtered; }
  void count_flush() { ++rows_.flushes; }
  void count_repeated(Count times) { rows_.repeated += times; }

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
  bool names_vms_ = true;
  absl::Status failed_;  // memory ran out, or an error after requests that were returned
};

using FormatRegistry = Registry<RequestReader, ReaderContext>;
const FormatRegistry& formats();

// The beginning of a file, uncompressed, by which formats are told apart.
struct Head {
  static constexpr std::size_t kMost = 64 * 1024;
  std::string bytes;
  bool whole = false;  // there is no more
};

// How well a file's beginning fits a format. Unopposed is a beginning of which the format
// says nothing, such as comments.
enum class Fit : std::uint8_t { kNo, kUnopposed, kPossible, kCertain };

struct Guess {
  std::string format;
  Fit fit = Fit::kNo;
  std::string objection;     // if kNo: what contradicts the format
  std::size_t requests = 0;  // read before that
  absl::Status exhausted{};  // if memory ran out over it
};

// Fit by trial: `fit` if `reader`, which reads the head, takes it. `more`: the file goes on.
Guess guess_by_trial(std::string format, Fit fit, RequestReader& reader, bool more);

// The best guess. An error names all candidates, or the beginning of the file and the format that
// comes nearest, with its objection.
absl::StatusOr<std::string> decide(const std::string& name, const Head& head,
                                   std::span<const Guess> guesses);

// The format of a file by its content.
absl::StatusOr<std::string> detect_format(const std::string& path);
absl::StatusOr<std::string> detect_format(const std::string& name, const Head& head);

struct ReadOptions {
  std::string format;  // empty: by content
  ParamMap params;
  OnBadLine on_bad_line = OnBadLine::kError;
  OnUnsorted on_unsorted = OnUnsorted::kError;
};

absl::StatusOr<std::unique_ptr<RequestReader>> open_trace(const std::string& path,
                                                          const ReadOptions& options);

// "web_0" for "traces/web_0.csv.gz": a file's name up to its first dot.
std::string vm_name_of(std::string_view path);

}  // namespace mcsim
