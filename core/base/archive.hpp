#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"

// Saved states as bytes. A class declares its state once, as the tuple of its members that change:
//
//   auto state() { return std::tie(lists_, hand_, random_); }
//
// A state is loaded into a new object with the same parameters. So members that the constructor
// computes from the parameters are not in it. Classes that need more than a copy of their members
// have `save(ArchiveWriter&)` and `load(ArchiveReader&)` instead.
//
// Equal states have equal bytes: padding is never written, since only types without padding are
// copied as a whole. The bytes are those of a little-endian machine.
namespace mcsim {

class ArchiveWriter;
class ArchiveReader;

template <class T>
concept HasState = requires(T& value) { value.state(); };
template <class T>
concept HasSaveAndLoad = requires(T& value, ArchiveWriter& to, ArchiveReader& from) {
  value.save(to);
  value.load(from);
};

namespace archive_internal {

static_assert(std::endian::native == std::endian::little);

// Copied as a whole.
template <class T>
inline constexpr bool kIsPlain =
    std::is_arithmetic_v<T> ||
    (std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !HasState<T> &&
     !HasSaveAndLoad<T> && std::has_unique_object_representations_v<T>);

}  // namespace archive_internal

class ArchiveWriter {
 public:
  template <class... Ts>
  void operator()(Ts&&... values) {
    (write(values), ...);
  }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <class T>
  void write(T& value) {
    if constexpr (HasSaveAndLoad<T>) {
      value.save(*this);
    } else if constexpr (HasState<T>) {
      std::apply(*this, value.state());
    } else {
      static_assert(archive_internal::kIsPlain<std::remove_const_t<T>>,
                    "neither a number nor a type with state(), or a type with padding");
      put(std::span(&value, 1));
    }
  }
  template <class T>
  void write(std::optional<T>& value) {
    write(static_cast<const bool&>(value.has_value()));
    if (value) write(*value);
  }
  template <class T, std::size_t kSize>
  void write(std::array<T, kSize>& values) {
    put(std::span(values));
  }
  template <class T>
  void write(Pages<T>& values) {
    put_counted(std::span(values.data(), values.size()));
  }
  template <class T>
  void write(std::vector<T>& values) {
    put_counted(std::span(values));
  }
  void write(std::string& text) { put_counted(std::span(text)); }

  template <class T>
  void put_counted(std::span<T> values) {
    const std::uint64_t count = values.size();
    write(count);
    put(values);
  }
  template <class T, std::size_t kExtent>
  void put(std::span<T, kExtent> values) {
    if constexpr (archive_internal::kIsPlain<std::remove_const_t<T>>) {
      const auto bytes = std::as_bytes(values);
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    } else {
      for (T& value : values) write(value);
    }
  }

  std::vector<std::byte> bytes_;
};

// The ids [first, first + count) of a state, and the first one of the same blocks now.
struct BlockRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t to = 0;
};

// Reads what ArchiveWriter wrote. After the first error, all reads leave their targets unchanged.
// Counts are compared with the number of remaining bytes before memory is allocated.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Pages keep their size if the saved ones are shorter: the remaining elements stay as they are. A
  // vector that is not empty keeps its size: another one is an error.
  template <class... Ts>
  void operator()(Ts&&... values) {
    (read(values), ...);
  }
  // Read a table of hashed ids, whose layout depends on its size. Fails if the saved one is
  // smaller, or if blocks have other ids.
  template <class T>
  void read_hashed(Pages<T>& values) {
    require_same_ids();
    Pages<T> saved;
    read(saved);
    if (!ok()) return;
    if (saved.size() < values.size()) {
      return fail(invalid_argument("a table of {} rows, expected {}", saved.size(), values.size()));
    }
    values = std::move(saved);
  }

  // Ids of blocks are less than this.
  void limit_blocks(std::size_t blocks) { blocks_ = blocks; }
  // Blocks have other ids than in the state: all saved ids are in these ranges, by first id.
  void move_blocks(std::vector<BlockRange> ranges) { ranges_ = std::move(ranges); }
  // The block of a saved id.
  BlockId block(BlockId saved) {
    const std::uint64_t id = moved(saved);
    if (id < blocks_) return BlockId(id);
    fail(data_loss("block {} is not one of the trace", saved));
    return kNoBlock;
  }
  // Fail if blocks have other ids than in the state.
  void require_same_ids() {
    for (const BlockRange& range : ranges_) {
      if (range.first == range.to || range.count == 0) continue;
      return fail(
          invalid_argument("this state depends on the ids of blocks, which are others after new "
                           "blocks of another VM"));
    }
  }
  // Read the ids of blocks; none after an error.
  std::vector<BlockId> read_blocks() {
    std::vector<BlockId> blocks;
    read(blocks);
    for (BlockId& id : blocks) id = block(id);
    if (!ok()) blocks.clear();
    return blocks;
  }

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  void fail(absl::Status error) {
    if (ok()) status_ = std::move(error);
  }
  std::size_t remaining() const { return bytes_.size(); }

 private:
  template <class T>
  void read(T& value) {
    if constexpr (HasSaveAndLoad<T>) {
      if (ok()) value.load(*this);
    } else if constexpr (HasState<T>) {
      std::apply(*this, value.state());
    } else {
      static_assert(archive_internal::kIsPlain<T>,
                    "neither a number nor a type with state(), or a type with padding");
      take(std::span(&value, 1));
    }
  }
  void read(bool& value) {
    std::uint8_t byte = value ? 1 : 0;
    read(byte);
    if (byte > 1) return fail(data_loss("expected 0 or 1, got {}", byte));
    value = byte == 1;
  }
  template <class T>
  void read(std::optional<T>& value) {
    bool has_value = false;
    read(has_value);
    if (!ok()) return;
    if (has_value != value.has_value()) {
      return fail(data_loss("an optional part is {}", has_value ? "not expected" : "missing"));
    }
    if (value) read(*value);
  }
  template <class T, std::size_t kSize>
  void read(std::array<T, kSize>& values) {
    take(std::span(values));
  }
  template <class T>
  void read(Pages<T>& values) {
    const std::size_t count = read_count<T>();
    if (count > values.size()) values.extend(count);
    take(std::span(values.data(), count));
  }
  template <class T>
  void read(std::vector<T>& values) {
    const std::size_t count = read_count<T>();
    if (!ok()) return;
    if (!values.empty() && count != values.size()) {
      return fail(invalid_argument("{} elements, expected {}", count, values.size()));
    }
    values.resize(count);
    take(std::span(values));
  }
  void read(std::string& text) {
    const std::size_t count = read_count<char>();
    if (!ok()) return;
    text.resize(count);
    take(std::span(text));
  }

  // kNoBlock if the id is in no range.
  std::uint64_t moved(std::uint64_t saved) const {
    if (ranges_.empty()) return saved;
    const auto next = std::ranges::upper_bound(ranges_, saved, {}, &BlockRange::first);
    if (next == ranges_.begin()) return kNoBlock;
    const BlockRange& range = next[-1];
    const std::uint64_t place = saved - range.first;
    return place < range.count ? range.to + place : std::uint64_t{kNoBlock};
  }

  // The number of elements that follow; 0 after an error.
  template <class T>
  std::size_t read_count() {
    constexpr std::size_t kLeast = archive_internal::kIsPlain<T> ? sizeof(T) : 1;
    std::uint64_t count = 0;
    read(count);
    if (ok() && count > bytes_.size() / kLeast) {
      fail(data_loss("{} elements in {} bytes", count, bytes_.size()));
    }
    return ok() ? static_cast<std::size_t>(count) : 0;
  }
  template <class T, std::size_t kExtent>
  void take(std::span<T, kExtent> values) {
    if constexpr (archive_internal::kIsPlain<T> && !std::same_as<T, bool>) {
      if (!ok() || values.empty()) return;
      if (values.size_bytes() > bytes_.size()) {
        return fail(data_loss("{} bytes missing at the end", values.size_bytes() - bytes_.size()));
      }
      std::memcpy(values.data(), bytes_.data(), values.size_bytes());
      bytes_ = bytes_.subspan(values.size_bytes());
    } else {
      for (T& value : values) {
        if (!ok()) return;
        read(value);
      }
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t blocks_ = kNoBlock;
  std::vector<BlockRange> ranges_;
  absl::Status status_;
};

// A member of a state that compares ids of blocks as numbers, if `compares`.
struct ComparedIds {
  bool compares;

  void save(ArchiveWriter&) {}
  void load(ArchiveReader& from) {
    if (compares) from.require_same_ids();
  }
};

}  // namespace mcsim
