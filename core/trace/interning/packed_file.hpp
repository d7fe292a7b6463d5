#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

// The file format of a packed trace: a magic word, the head of the plain file
// (accesses_layout.hpp), then the parts of each column in order, each with a word for its bytes and
// filled up to whole words. The image of a packed file is the plain file.
namespace mcsim::interning {

absl::Status write_packed(const Accesses& trace, const std::string& path);

bool is_packed(std::span<const std::byte> file);
// The image as far as it is not packed: its head.
std::span<const std::byte> image_in(std::span<const std::byte> file);
// `name` begins every message.
absl::StatusOr<Pages<std::byte>> unpack_image(std::span<const std::byte> file,
                                              std::string_view name);

}  // namespace mcsim::interning
