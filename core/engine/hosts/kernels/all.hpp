#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/engine/hosts/kernels/kernel.hpp"

namespace mcsim {

struct KernelType {
  std::string_view name;
  // Return null if the kernel cannot serve such a host.
  std::unique_ptr<Kernel> (*make)(const KernelSetup& setup);
};

// All kernels of TieredHost; a host uses the first one that serves the requests.
std::span<const KernelType> kernel_types();

}  // namespace mcsim
