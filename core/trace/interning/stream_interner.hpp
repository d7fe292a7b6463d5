#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/shared_array.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/requests.hpp"

namespace mcsim {
namespace interning {

// A column under construction. It grows without a copy, and becomes a SharedArray without one.
template <class T>
class GrowingColumn {
 public:
  // Appends `count` values and returns their memory.
  T* append(std::size_t count) {
    if (size_ + count > pages_.size()) {
      pages_.extend(std::max(size_ + count, pages_.size() + pages_.size() / 2));
    }
    T* const first = pages_.data() + size_;
    size_ += count;
    return first;
  }
  void shrink(std::size_t size) { size_ = size; }
  std::span<T> values() const { return {pages_.data(), size_}; }
  std::size_t size() const { return size_; }

  // `As` has the representation of T.
  template <class As = T>
  SharedArray<As> take() && {
    static_assert(sizeof(As) == sizeof(T) && alignof(As) == alignof(T));
    const auto owner = std::make_shared<const Pages<T>>(std::move(pages_));
    const auto* const first = reinterpret_cast<const As*>(owner->data());
    return {owner, std::span<const As>(first, std::exchange(size_, 0))};
  }

 private:
  Pages<T> pages_;
  std::size_t size_ = 0;
};

}  // namespace interning

// Interns the requests of a file while it is read, all VMs in one pass. The accesses are those of
// an AccessBuilder that gets one VM after the other, in the order of VM numbers.
//
// One table numbers the blocks of all VMs, in the order of their first access in the file. In the
// end these numbers are replaced by ids, which are contiguous for each VM.
//
// It handles plain files only: requests in the order of time, no discards, and with several VMs no
// block beyond 2^48. Otherwise add() returns false, and the file must be read again for an
// AccessBuilder, which also reports invalid requests.
class StreamInterner {
 public:
  // Whether these options are supported: no lines, samples, responses, classes or whole seconds.
  static bool supports(const ExpandOptions& options);

  // `options` must be supported.
  explicit StreamInterner(ExpandOptions options);

  // Adds the next requests. Once it returned false, or an error, nothing may follow.
  absl::StatusOr<bool> add(const RequestsView& chunk);

  // Returns the accesses; `vms` has a name for every number of a VM.
  absl::StatusOr<Accesses> finish(std::span<const std::string> vms, TimeBase time_base) &&;

 private:
  struct Vm {
    Count requests = 0;
    Count accesses = 0;
  };
  // The next values of the columns of requests.
  struct Rows {
    std::uint64_t* begin;
    Nanoseconds* time;
    VmId* vm;
    std::uint8_t* op;
    std::uint32_t* bytes;
    std::uint32_t* head;

    bool has_other_times = false;  // than the position of the first access

    void push(std::uint64_t begins, Nanoseconds at, VmId of, std::uint8_t what) {
      has_other_times |= at < 0 || static_cast<std::uint64_t>(at) != begins;
      *begin++ = begins;
      *time++ = at;
      *vm++ = of;
      *op++ = what;
    }
    void push_bytes(std::uint32_t length, std::uint64_t in_block) {
      *bytes++ = length;
      *head++ = static_cast<std::uint32_t>(in_block);
    }
  };
  // Requests that are interned together.
  static constexpr std::size_t kPortion = std::size_t{1} << 14;
  // Bits of a block's key, below those of its VM.
  static constexpr int kKeyBits = 48;

  bool add_portion(const RequestsView& chunk, std::size_t begin, std::size_t end);
  bool push_keys(VmId vm, std::uint64_t first, std::uint64_t count);
  Rows append_rows(std::size_t count);
  void end_rows(const Rows& rows);
  void store_times(std::span<const Nanoseconds> last);
  SharedArray<Nanoseconds> take_times(const SharedArray<std::uint64_t>& begin);
  bool number_keys();
  void note_new_blocks(std::span<const std::uint32_t> numbers);
  void sort_equal_times();
  void sort_run(std::size_t begin, std::size_t end);
  void number_by_vm(Accesses& trace);
  std::vector<std::uint64_t> addresses_of(std::span<const std::uint32_t> ids) const;
  std::uint64_t block_of(std::uint64_t offset) const {
    return shift_ >= 0 ? offset >> shift_ : offset / options_.block_bytes;
  }

  ExpandOptions options_;
  int shift_;  // log2 of the block size; -1 if it is not a power of two
  BlockTable table_;
  std::vector<Vm> vms_;
  // VMs of blocks by their numbers, if there are several VMs.
  std::vector<VmId> vm_of_block_;
  std::uint64_t key_bits_ = 0;  // of all keys
  Nanoseconds last_time_ = std::numeric_limits<Nanoseconds>::min();
  VmId last_vm_ = 0;
  bool has_unsorted_vms_ = false;  // among requests of one time
  GivenCounts given_;

  interning::GrowingColumn<std::uint32_t> ids_;  // numbers of the table until finish()
  interning::GrowingColumn<std::uint64_t> begin_;
  // Times, empty while each is the position of the request's first access, as in a file of keys.
  interning::GrowingColumn<Nanoseconds> time_;
  bool has_times_ = false;
  interning::GrowingColumn<VmId> vm_;
  interning::GrowingColumn<std::uint8_t> op_;
  interning::GrowingColumn<std::uint32_t> bytes_;
  interning::GrowingColumn<std::uint32_t> head_;

  std::vector<std::uint64_t> keys_;        // of a portion
  std::vector<std::uint32_t> sorted_ids_;  // scratch memory
};

}  // namespace mcsim
