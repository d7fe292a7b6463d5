#include "core/engine/hosts/kernels/all.hpp"

#include <array>

#include "core/engine/hosts/kernels/batched_chain.hpp"
#include "core/engine/hosts/kernels/copy_chain.hpp"

namespace mcsim {
namespace {

template <class K>
std::unique_ptr<Kernel> make_if_possible(const KernelSetup& setup) {
  return K::can_serve(setup) ? std::make_unique<K>(setup) : nullptr;
}

}  // namespace

std::span<const KernelType> kernel_types() {
  static constexpr std::array kAll{
      KernelType{"batched-chain", make_if_possible<BatchedChain>},
      KernelType{"copy-chain", make_if_possible<CopyChain>},
  };
  return kAll;
}

}  // namespace mcsim
