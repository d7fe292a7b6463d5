#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mcsim {

// The entry of `known` that is nearest to a misspelt `word`, as " (did you mean 'x'?)", or "" if
// none is near enough.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace mcsim
