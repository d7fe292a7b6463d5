#include "core/trace/interning/packed_file.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/word_reader.hpp"
#include "core/trace/interning/accesses_layout.hpp"
#include "core/trace/interning/packed_column.hpp"

namespace mcsim::interning {
namespace {

constexpr std::uint64_t kMagic = 0x3150434341434d2eULL;  // ".MCACCP1"
constexpr std::size_t kWord = sizeof(std::uint64_t);
// Parts of zeroes, the smallest, are not packed that much.
constexpr std::uint64_t kMostExpansion = 1 << 17;

struct ColumnKind {
  std::size_t value_bytes = 0;
  Order order = Order::kAny;
};

std::array<ColumnKind, kColumns> column_kinds() {
  Accesses trace;
  auto kinds = std::apply(
      [](const auto&... column) {
        return std::array{ColumnKind{sizeof(*column.data()), Order::kAny}...};
      },
      columns_of(trace));
  kinds[1].order = kinds[2].order = Order::kAscending;  // request_begin and request_time
  return kinds;
}

struct Part {
  ColumnKind kind;
  std::span<const std::byte> packed;
  std::span<std::byte> values;
};

// Calls visit(begin, bytes) for the parts of a column.
template <class Visit>
void for_parts(std::uint64_t column_bytes, std::size_t value_bytes, Visit&& visit) {
  const std::uint64_t most = kPartValues * value_bytes;
  for (std::uint64_t begin = 0; begin < column_bytes; begin += most) {
    visit(begin, std::min(most, column_bytes - begin));
  }
}

// Writes one piece after the other.
class Appended {
 public:
  explicit Appended(File file) : file_(std::move(file)) {}

  void append(std::span<const std::byte> bytes) {
    status_.Update(status_.ok() ? file_.write(bytes, at_) : absl::OkStatus());
    at_ += bytes.size();
  }
  const absl::Status& status() const { return status_; }

 private:
  File file_;
  std::uint64_t at_ = 0;
  absl::Status status_;
};

}  // namespace

absl::Status write_packed(const Accesses& trace, const std::string& path) {
  MCSIM_ASSIGN_OR_RETURN(File file, File::create(path));
  Appended packed(std::move(file));
  std::vector<std::uint64_t> head =
      head_of(trace, trace.request_count(), trace.ids.size(), sums_of(trace));
  head.insert(head.begin(), kMagic);
  packed.append(std::as_bytes(std::span(head)));
  std::vector<std::byte> part;
  const auto kinds = column_kinds();
  std::size_t next = 0;
  const auto append_column = [&](const auto& column) {
    const ColumnKind kind = kinds[next++];
    const auto bytes = std::as_bytes(std::span(column.data(), column.size()));
    for_parts(bytes.size(), kind.value_bytes, [&](std::uint64_t begin, std::uint64_t size) {
      if (!packed.status().ok()) return;
      pack(bytes.subspan(begin, size), kind.value_bytes, kind.order, part);
      const std::array<std::uint64_t, 1> packed_bytes{part.size()};
      part.resize((part.size() + kWord - 1) / kWord * kWord);
      packed.append(std::as_bytes(std::span(packed_bytes)));
      packed.append(part);
    });
    advise_dont_need(bytes);
  };
  std::apply([&](const auto&... column) { (append_column(column), ...); }, columns_of(trace));
  return packed.status();
}

bool is_packed(std::span<const std::byte> file) {
  std::uint64_t word = 0;
  if (file.size() < kWord) return false;
  std::memcpy(&word, file.data(), kWord);
  return word == kMagic;
}

std::span<const std::byte> image_in(std::span<const std::byte> file) { return file.subspan(kWord); }

absl::StatusOr<Pages<std::byte>> unpack_image(std::span<const std::byte> file,
                                              std::string_view name) {
  const std::span<const std::byte> packed = image_in(file);
  MCSIM_ASSIGN_OR_RETURN(const FileHead head, head_in(packed, name));
  const Layout layout = layout_of(head.trace, head.requests, head.accesses);
  if (layout.end / kMostExpansion > file.size())
    return not_of_this_version(name, "it is cut short");
  Pages<std::byte> whole(layout.end);
  const std::span image(whole.data(), whole.size());
  std::memcpy(image.data(), packed.data(), head.words * kWord);
  const std::span all(reinterpret_cast<const std::uint64_t*>(packed.data()), packed.size() / kWord);
  WordReader words(all.subspan(head.words));
  const auto kinds = column_kinds();
  std::vector<Part> parts;
  for (std::size_t column = 0; column < kColumns; ++column) {
    const auto values = image.subspan(layout.begin[column], layout.bytes[column]);
    for_parts(values.size(), kinds[column].value_bytes,
              [&](std::uint64_t begin, std::uint64_t size) {
                const auto bytes = words.take_up_to<std::size_t>(words.left() * kWord);
                const auto part = std::as_bytes(words.take_all((bytes + kWord - 1) / kWord));
                if (words.whole())
                  parts.push_back({kinds[column], part.first(bytes), values.subspan(begin, size)});
              });
  }
  std::atomic<bool> is_whole = words.over() && packed.size() % kWord == 0;
  tbb::parallel_for(std::size_t{0}, is_whole ? parts.size() : 0, [&](std::size_t i) {
    const Part& part = parts[i];
    if (!unpack(part.packed, part.kind.value_bytes, part.kind.order, part.values)) is_whole = false;
  });
  if (!is_whole) {
    return data_loss("{}: a damaged interned trace; remove it and mcsim will rebuild it", name);
  }
  return whole;
}

}  // namespace mcsim::interning
