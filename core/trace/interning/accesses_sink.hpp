#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/checksum.hpp"
#include "core/base/files.hpp"
#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {
namespace interning {

// A column under construction: in memory, or written piece by piece to a file.
template <class T>
class ColumnSink {
 public:
  // Reserves room for `size` values. The file, if there is one, must outlive the sink.
  ColumnSink(std::size_t size, const File* file, std::uint64_t offset)
      : file_(file), offset_(offset), most_(file == nullptr ? kNoLimit : kPiece / sizeof(T)) {
    values_.reserve(std::min(most_, size));
  }

  void push(T value) {
    if (values_.size() == most_) flush();
    values_.push_back(value);
  }
  // Writes the last values to the file.
  void flush() {
    if (values_.empty()) return;
    const auto bytes = std::as_bytes(std::span(values_));
    checksum_ = mcsim::checksum(bytes, checksum_);
    if (status_.ok()) status_ = file_->write(bytes, offset_);
    offset_ += bytes.size();
    values_.clear();
  }

  // The first error of a write.
  const absl::Status& status() const { return status_; }
  std::uint64_t checksum() const { return checksum_; }
  SharedArray<T> take() { return std::move(values_); }

 private:
  // Bytes of one checksum update.
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  const File* file_;
  std::uint64_t offset_;
  std::size_t most_;
  std::vector<T> values_;
  std::uint64_t checksum_ = 0;
  absl::Status status_;
};

}  // namespace interning

// Accesses under construction, request by request: in memory, or in a file that is mapped
// afterwards.
class AccessesSink {
 public:
  // `trace` has everything except the columns. Builds them in memory, with initial room for this
  // number of requests and accesses.
  explicit AccessesSink(Accesses trace, std::size_t requests = 0, std::size_t accesses = 0);
  // Writes exactly this number of requests and accesses to the file.
  static absl::StatusOr<AccessesSink> to_file(Accesses trace, std::size_t requests,
                                              std::size_t accesses, const std::string& path);

  void push_block(BlockId id) { ids_.push(id), ++accesses_; }
  // Adds the optional columns of the next request, if the trace keeps them.
  void push_response(Nanoseconds took) { response_.push(took); }
  void push_class(std::uint8_t of_class) { class_.push(of_class); }
  void push_bytes(std::uint32_t bytes, std::uint32_t head = 0) {
    bytes_.push(bytes), head_.push(head);
  }
  // Adds the address of the next id, if the trace keeps addresses.
  void push_address(std::uint64_t address) { address_.push(address); }
  // Ends a request after its blocks.
  void push_request(Nanoseconds time, VmId vm, std::uint8_t op) {
    begin_.push(accesses_);
    time_.push(time);
    vm_.push(vm);
    op_.push(op);
  }

  // Sets the departure before this request, or before the first counted request if that is later.
  void depart(std::size_t departure, std::size_t request) {
    assert(departure < trace_.departures.size());
    trace_.departures[departure].request = std::max(request, trace_.warm_up);
  }

  // Sets a discard; the trace already has its entry.
  void discard(std::size_t which, Discard discard) {
    assert(which < trace_.discards.size());
    trace_.discards[which] = discard;
  }

  // The first error of a write.
  absl::Status status() const;
  absl::StatusOr<Accesses> finish() &&;

 private:
  AccessesSink(Accesses trace, std::size_t requests, std::size_t accesses,
               std::unique_ptr<const File> file, std::span<const std::uint64_t> offsets);

  // In the order of the file.
  auto columns() {
    return std::tie(ids_, begin_, time_, vm_, op_, response_, class_, bytes_, head_, address_);
  }
  auto columns() const {
    return std::tie(ids_, begin_, time_, vm_, op_, response_, class_, bytes_, head_, address_);
  }

  Accesses trace_;
  std::size_t requests_;
  std::unique_ptr<const File> file_;  // null: in memory
  interning::ColumnSink<BlockId> ids_;
  interning::ColumnSink<std::uint64_t> begin_;
  interning::ColumnSink<Nanoseconds> time_;
  interning::ColumnSink<VmId> vm_;
  interning::ColumnSink<std::uint8_t> op_;
  interning::ColumnSink<Nanoseconds> response_;
  interning::ColumnSink<std::uint8_t> class_;
  interning::ColumnSink<std::uint32_t> bytes_;
  interning::ColumnSink<std::uint32_t> head_;
  interning::ColumnSink<std::uint64_t> address_;
  std::uint64_t accesses_ = 0;
};

}  // namespace mcsim
