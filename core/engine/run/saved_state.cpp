#include "core/engine/run/saved_state.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/base/checksum.hpp"

namespace mcsim {
namespace {

constexpr std::uint64_t kMagic = 0x65746174736d636d;  // "mcmstate"
constexpr std::uint64_t kVersion = 2;                 // of the file, and of all states in it
constexpr std::size_t kHead =
    3 * sizeof(std::uint64_t);  // magic, version, checksum of what follows

absl::Status refuse(const std::string& path, std::string_view why) {
  return data_loss("{}: not a state of this version of mcsim ({})", path, why);
}

}  // namespace

absl::StatusOr<SavedState> SavedState::open(const StateFiles& files) {
  SavedState state;
  MCSIM_ASSIGN_OR_RETURN(state.file_, map_file(files.from));
  const std::span<const std::byte> bytes = state.file_->bytes();
  std::array<std::uint64_t, 3> head{};
  if (bytes.size() < kHead) return refuse(files.from, "it is too short");
  std::memcpy(head.data(), bytes.data(), kHead);
  if (head[0] != kMagic) return refuse(files.from, "it begins with other bytes");
  if (head[1] != kVersion) return refuse(files.from, fmt::format("version {}", head[1]));
  if (head[2] != checksum(bytes.subspan(kHead), head[1])) {
    return refuse(files.from, "a checksum does not match");
  }
  state.rest_ = ArchiveReader(bytes.subspan(kHead));
  std::string setup;
  state.rest_(setup, state.blocks_);
  if (!state.rest_.ok()) return refuse(files.from, message_of(state.rest_.status()));
  if (setup == files.setup) return state;
  return invalid_argument("{}: the state is one of {}, not of {}", files.from, setup, files.setup);
}

absl::Status SavedState::load(Host& host, const Accesses& continued) const {
  ArchiveReader from = rest_;
  std::vector<BlockRange> ranges;
  for (std::size_t vm = 0; vm < blocks_.vms.size(); ++vm) {
    const KnownVm& known = blocks_.vms[vm];
    ranges.push_back({.first = known.first_id,
                      .count = known.addresses.size(),
                      .to = continued.vms[vm].first_id});
  }
  from.move_blocks(std::move(ranges));
  MCSIM_RETURN_IF_ERROR(host.load(from));
  if (from.remaining() == 0) return absl::OkStatus();
  return data_loss("{} bytes behind the state", from.remaining());
}

absl::Status save_state(Host& host, KnownBlocks blocks, const StateFiles& files) {
  ArchiveWriter to;
  to(std::string(files.setup), blocks);
  MCSIM_RETURN_IF_ERROR(host.save(to));
  const std::array head{kMagic, kVersion, checksum(to.bytes(), kVersion)};
  MCSIM_ASSIGN_OR_RETURN(const File file, File::create(files.to));
  MCSIM_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(head)), 0));
  return file.write(to.bytes(), kHead);
}

}  // namespace mcsim
