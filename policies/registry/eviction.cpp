#include "policies/registry/eviction.hpp"

#include <atomic>
#include <mutex>

#include "policies/registry/libraries.hpp"
#include "policies/wrappers/all.hpp"

namespace mcsim {
namespace {

// A wrapper with access to the registry of the policies that its parameters name.
template <class Wrapper>
struct WithOthers {
  using Params = typename Wrapper::Params;
  static constexpr ComponentInfo kInfo = Wrapper::kInfo;

  static auto make(const Params& params, PolicySetup setup) {
    setup.registry = &eviction_registry();
    return Wrapper::make(params, setup);
  }
};

template <class... Wrappers>
std::vector<EvictionRegistry::EntryType> wrappers_of(TypeList<Wrappers...>) {
  return EvictionRegistry("", TypeList<WithOthers<Wrappers>...>{}).entries();
}

// Threads read the newest registry while others add to it. A registry is therefore never modified,
// and replaced ones are kept: they are few and small.
struct Registries {
  std::mutex adding;
  std::vector<std::unique_ptr<const EvictionRegistry>> all;
  std::atomic<const EvictionRegistry*> newest;

  Registries() {
    publish(EvictionRegistry("eviction policy", TypeList<>{})
                .with(queue_policies())
                .value()
                .with(ranking_policies())
                .value()
                .with(deployed_policies())
                .value()
                .with(wrappers_of(AllPolicyWrappers{}))
                .value()
                .with(library_policies())
                .value());
  }
  void publish(EvictionRegistry registry) {
    all.push_back(std::make_unique<const EvictionRegistry>(std::move(registry)));
    newest = all.back().get();
  }
};

Registries& registries() {
  static Registries made;
  return made;
}

}  // namespace

const EvictionRegistry& eviction_registry() { return *registries().newest; }

std::vector<EvictionRegistry::EntryType> eviction_policies() {
  std::vector<EvictionRegistry::EntryType> entries = eviction_registry().entries();
  std::erase_if(entries,
                [](const auto& entry) { return library_named(entry.info.name) != nullptr; });
  return entries;
}

absl::Status add_eviction_policies(const std::vector<EvictionRegistry::EntryType>& policies) {
  const std::lock_guard lock(registries().adding);
  MCSIM_ASSIGN_OR_RETURN(EvictionRegistry more, eviction_registry().with(policies));
  registries().publish(std::move(more));
  return absl::OkStatus();
}

void put_eviction_policy(EvictionRegistry::EntryType policy) {
  const std::lock_guard lock(registries().adding);
  registries().publish(eviction_registry().with_in_place(std::move(policy)));
}

}  // namespace mcsim
