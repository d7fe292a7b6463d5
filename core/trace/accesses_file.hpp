#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/checksum.hpp"
#include "core/base/files.hpp"
#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

// Interned traces as files, which are mapped to be replayed: as many processes as like share
// one, and it may be larger than memory.
//
// A file is a head, a row of 64-bit words, and the columns of Accesses in their order, each
// from a multiple of kColumnAlignment on. Those that somebody has to ask for are where they are
// kept. Then the head ends with the checksum of response times, if they are kept, and with two
// words of every other one that is: its number among them, 1 for classes and 2 for bytes, and its
// checksum. Words are those of the machine: a file is for the machine that made it, or one like it.
namespace mcsim {

// Changes whenever other bytes are written for the same accesses, or the same requests make
// other accesses.
inline constexpr std::uint64_t kAccessesVersion = 2;

// The file is there, or not all of it, when this returns: whoever wants it whole or not at
// all has it take another's place afterwards. Unavailable if it cannot be written.
absl::Status write_accesses(const Accesses& trace, const std::string& path);

// Reads all of it once: that nothing is damaged, and that it is what replays rely on.
// DataLoss says what is not so, and NotFound and Unavailable why it cannot be read.
absl::StatusOr<Accesses> open_accesses(const std::string& path);
// Of a file that another process of this computation opened in that way: nothing but its head is
// read.
absl::StatusOr<Accesses> open_checked_accesses(const std::string& path);

// The same for bytes that `owner` keeps, at a multiple of 8; `name` begins every message.
absl::StatusOr<Accesses> accesses_in(std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> owner, std::string_view name);

namespace accesses_file {

inline constexpr std::size_t kAlways = 5;  // so many columns are always there
inline constexpr std::size_t kOnDemand = std::tuple_size_v<Kept>;
inline constexpr std::size_t kColumns = kAlways + kOnDemand;
inline constexpr std::uint64_t kColumnAlignment = 64;

// One column as it is made: in memory, or piece by piece in a file.
template <class T>
class ColumnSink {
 public:
  // With room for `size` values; the file, if there is one, stays where it is.
  ColumnSink(std::size_t size, const File* file, std::uint64_t offset)
      : file_(file), offset_(offset), most_(file == nullptr ? kNoLimit : kPiece / sizeof(T)) {
    values_.reserve(std::min(most_, size));
  }

  void push(T value) {
    if (values_.size() == most_) flush();
    values_.push_back(value);
  }
  // Puts what waits into the file.
  void flush() {
    const auto bytes = std::as_bytes(std::span(values_));
    checksum_ = values_.empty() ? checksum_ : mcsim::checksum(bytes, checksum_);
    if (status_.ok()) status_ = file_->write(bytes, offset_);
    offset_ += bytes.size();
    values_.clear();
  }

  // Of the first write that failed.
  const absl::Status& status() const { return status_; }
  std::uint64_t checksum() const { return checksum_; }
  std::vector<T> take() { return std::move(values_); }

 private:
  // Checksums are made of so many bytes at a time.
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  const File* file_;
  std::uint64_t offset_;
  std::size_t most_;
  std::vector<T> values_;
  std::uint64_t checksum_ = 0;
  absl::Status status_;
};

}  // namespace accesses_file

// Accesses as they are made, request by request: in memory, or in a file that is then mapped.
class AccessesSink {
 public:
  // `trace` has all but the columns. In memory, with room for so many at first.
  explicit AccessesSink(Accesses trace, std::size_t requests = 0, std::size_t accesses = 0)
      : AccessesSink(std::move(trace), requests, accesses, nullptr, {}) {}
  // So many exactly, to that file.
  static absl::StatusOr<AccessesSink> to_file(Accesses trace, std::size_t requests,
                                              std::size_t accesses, const std::string& path);

  void push_block(BlockId id) { ids_.push(id), ++accesses_; }
  // What is kept of the request that is pushed next is pushed there.
  ColumnsOnDemand<accesses_file::ColumnSink>& on_demand() { return on_demand_; }
  // Whose blocks were pushed.
  void push_request(Nanoseconds time, VmId vm, std::uint8_t op) {
    begin_.push(accesses_);
    time_.push(time);
    vm_.push(vm);
    op_.push(op);
  }

  // The VM of that departure leaves before this request, or before the first that counts.
  void depart(std::size_t departure, std::size_t request) {
    trace_.departures[departure].request = std::max(request, trace_.warm_up);
  }

  // Whether all could be written so far.
  absl::Status status() const;
  absl::StatusOr<Accesses> finish() &&;

 private:
  AccessesSink(Accesses trace, std::size_t requests, std::size_t accesses,
               std::unique_ptr<const File> file,
               const std::array<std::uint64_t, accesses_file::kColumns>& at);

  Accesses trace_;
  std::size_t requests_;
  std::unique_ptr<const File> file_;  // none: in memory
  accesses_file::ColumnSink<BlockId> ids_;
  accesses_file::ColumnSink<std::uint64_t> begin_;
  accesses_file::ColumnSink<Nanoseconds> time_;
  accesses_file::ColumnSink<VmId> vm_;
  accesses_file::ColumnSink<std::uint8_t> op_;
  ColumnsOnDemand<accesses_file::ColumnSink> on_demand_;
  std::uint64_t accesses_ = 0;
};

}  // namespace mcsim
