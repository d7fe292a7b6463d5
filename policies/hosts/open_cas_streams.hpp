#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/types.hpp"

namespace mcsim {

// A red-black tree of streams by (valid, write, end), as that of OCF (src/utils/utils_rbtree.c).
// Streams with the same key are in a ring, and one of them is in a node. A stream that becomes
// invalid keeps its node, so searches below it can miss streams until it is removed. The shape of
// the tree matters. Insertions and removals rotate as those of OCF do.
//
// O(log n) per call.
template <std::size_t kStreams>
class OpenCasStreamTree {
 public:
  using Id = std::uint8_t;
  static constexpr Id kNone = 255;
  static_assert(kStreams < kNone);

  struct Stream {
    std::uint64_t key = 0;
    std::uint64_t bytes = 0;
    std::uint32_t requests = 0;
    Id node = kNone;
    Id next = kNone;  // in the ring of streams with the same key
    Id previous = kNone;
  };

  OpenCasStreamTree() {
    for (std::size_t i = 0; i < kStreams; ++i) unused_[i] = static_cast<Id>(i);
  }

  static std::uint64_t key_of(bool is_valid, Op op, std::uint64_t end) {
    return std::uint64_t{is_valid} << 63 | std::uint64_t{op == Op::kWrite} << 62 | end;
  }

  Stream& operator[](Id id) { return streams_[id]; }
  const Stream& operator[](Id id) const { return streams_[id]; }

  // Change the key of a stream that keeps its place.
  void set_key(Id id, std::uint64_t key) {
    streams_[id].key = key;
    if (streams_[id].node != kNone) nodes_[streams_[id].node].key = key;
  }

  // The stream with this key. If there are several, the longest one that is not in the node.
  Id find(std::uint64_t key) const {
    Id at = root_;
    while (at != kNone && nodes_[at].key != key) at = below(at, key);
    if (at == kNone) return kNone;
    const Id id = nodes_[at].stream;
    Id longest = streams_[id].next;
    for (Id other = longest; other != id; other = streams_[other].next) {
      if (streams_[other].bytes > streams_[longest].bytes) longest = other;
    }
    return longest;
  }

  void insert(Id id) {
    Stream& stream = streams_[id];
    Id parent = kNone;
    for (Id at = root_; at != kNone; at = below(at, stream.key)) {
      if (nodes_[at].key == stream.key) return insert_before(nodes_[at].stream, id);
      parent = at;
    }
    const Id node = unused_[nodes_in_use_++];
    stream.node = node;
    stream.next = stream.previous = id;
    nodes_[node] = {.key = stream.key, .parent = parent, .stream = id, .is_red = parent != kNone};
    if (parent == kNone) {
      root_ = node;
    } else {
      nodes_[parent].child[side_of(parent, stream.key)] = node;
      balance(node);
    }
  }

  void remove(Id id) {
    Stream& stream = streams_[id];
    Id node = stream.node;
    stream.node = kNone;
    if (stream.next != id) {
      streams_[stream.next].previous = stream.previous;
      streams_[stream.previous].next = stream.next;
      if (node != kNone) place(stream.next, node);
      return;
    }
    for (Id heir = replacement(node); heir != kNone; heir = replacement(node)) {
      place(nodes_[heir].stream, node);
      node = heir;
    }
    if (!nodes_[node].is_red) fill(node);
    replace(node, kNone);
    unused_[--nodes_in_use_] = node;
  }

  // Whether a stream keeps its place with this key, which is greater than its own.
  bool keeps_place(Id id, std::uint64_t key) const {
    const Id node = streams_[id].node;
    if (node == kNone || streams_[id].next != id) return false;
    Id at = root_;
    while (at != kNone && at != node) at = below(at, key);
    if (at == kNone) return false;
    Id after = nodes_[node].child[1];
    while (after != kNone && nodes_[after].child[0] != kNone) after = nodes_[after].child[0];
    return after == kNone || key < nodes_[after].key;
  }

 private:
  struct Node {
    std::uint64_t key = 0;
    std::array<Id, 2> child{kNone, kNone};  // of lesser and of greater keys
    Id parent = kNone;
    Id stream = kNone;
    bool is_red = false;
  };

  std::size_t side_of(Id at, std::uint64_t key) const { return key < nodes_[at].key ? 0 : 1; }
  Id below(Id at, std::uint64_t key) const { return nodes_[at].child[side_of(at, key)]; }
  std::size_t side_below(Id parent, Id node) const {
    return nodes_[parent].child[1] == node ? 1 : 0;
  }
  bool is_red(Id node) const { return node != kNone && nodes_[node].is_red; }

  void insert_before(Id other, Id id) {
    streams_[id].node = kNone;
    streams_[id].next = other;
    streams_[id].previous = streams_[other].previous;
    streams_[streams_[other].previous].next = id;
    streams_[other].previous = id;
  }

  void place(Id id, Id node) {
    streams_[id].node = node;
    nodes_[node].stream = id;
    nodes_[node].key = streams_[id].key;
  }

  // The node that replaces a removed one: the next one, or the only child.
  Id replacement(Id node) const {
    const auto [lesser, greater] = nodes_[node].child;
    if (lesser == kNone || greater == kNone) return lesser == kNone ? greater : lesser;
    Id at = greater;
    while (nodes_[at].child[0] != kNone) at = nodes_[at].child[0];
    return at;
  }

  // Link another node or none from the parent of a node.
  void replace(Id node, Id other) {
    const Id parent = nodes_[node].parent;
    if (parent == kNone) {
      root_ = other;
    } else {
      nodes_[parent].child[side_below(parent, node)] = other;
    }
  }

  // Rotate a node towards a side.
  void rotate(Id node, std::size_t side) {
    const Id up = nodes_[node].child[1 - side];
    const Id inner = nodes_[up].child[side];
    replace(node, up);
    nodes_[up].parent = nodes_[node].parent;
    nodes_[up].child[side] = node;
    nodes_[node].parent = up;
    nodes_[node].child[1 - side] = inner;
    if (inner != kNone) nodes_[inner].parent = node;
  }

  void balance(Id node) {
    while (nodes_[node].is_red && is_red(nodes_[node].parent)) {
      const Id parent = nodes_[node].parent;
      const Id above = nodes_[parent].parent;
      if (above == kNone) break;
      const std::size_t side = side_below(above, parent);
      const Id uncle = nodes_[above].child[1 - side];
      if (is_red(uncle)) {
        nodes_[above].is_red = true;
        nodes_[parent].is_red = nodes_[uncle].is_red = false;
        node = above;
      } else if (node == nodes_[parent].child[1 - side]) {
        rotate(parent, side);
        node = parent;
      } else {
        rotate(above, 1 - side);
        std::swap(nodes_[parent].is_red, nodes_[above].is_red);
        node = parent;
      }
    }
    nodes_[root_].is_red = false;
  }

  // Restore the number of black nodes on the path to a leaf that is to be removed.
  void fill(Id node) {
    while (nodes_[node].parent != kNone) {
      const Id parent = nodes_[node].parent;
      const std::size_t side = side_below(parent, node);
      const Id sibling = nodes_[parent].child[1 - side];
      if (sibling == kNone) {
        node = parent;
      } else if (is_red(sibling)) {
        nodes_[parent].is_red = true;
        nodes_[sibling].is_red = false;
        rotate(parent, side);
      } else if (is_red(nodes_[sibling].child[0]) || is_red(nodes_[sibling].child[1])) {
        return borrow(parent, sibling, side);
      } else {
        nodes_[sibling].is_red = true;
        if (is_red(parent)) {
          nodes_[parent].is_red = false;
          return;
        }
        node = parent;
      }
    }
  }

  // Rotate a red child of the sibling towards the side that lacks a black node.
  void borrow(Id parent, Id sibling, std::size_t side) {
    const std::size_t from = is_red(nodes_[sibling].child[0]) ? 0 : 1;
    const Id child = nodes_[sibling].child[from];
    if (from != side) {
      nodes_[child].is_red = nodes_[sibling].is_red;
      nodes_[sibling].is_red = nodes_[parent].is_red;
    } else {
      nodes_[child].is_red = nodes_[parent].is_red;
      rotate(sibling, 1 - side);
    }
    rotate(parent, side);
    nodes_[parent].is_red = false;
  }

  std::array<Stream, kStreams> streams_{};
  std::array<Node, kStreams> nodes_{};
  std::array<Id, kStreams> unused_{};  // nodes, from nodes_in_use_ on
  std::size_t nodes_in_use_ = 0;
  Id root_ = kNone;
};

// The streams of a queue or of a core device, by last request.
template <std::size_t kStreams>
class OpenCasStreams {
 public:
  using Tree = OpenCasStreamTree<kStreams>;
  using Id = typename Tree::Id;
  static constexpr Id kNone = Tree::kNone;

  OpenCasStreams() {
    constexpr std::uint64_t kFirstEnds = 4096;
    for (std::size_t i = 0; i < kStreams; ++i) {
      const auto id = static_cast<Id>(i);
      tree_[id].key = Tree::key_of(false, Op::kRead, kFirstEnds * i);
      ++ends_[place_of(tree_[id].key)];
      tree_.insert(id);
      link(id, kRoot);
    }
  }

  Id find(Op op, std::uint64_t offset) const {
    const std::uint64_t key = Tree::key_of(true, op, offset);
    return ends_[place_of(key)] == 0 ? kNone : tree_.find(key);
  }
  const typename Tree::Stream& operator[](Id id) const { return tree_[id]; }

  // Add a request to the stream that it continues, if there is one.
  Id extend(Op op, std::uint64_t offset, std::uint64_t bytes) {
    const Id id = find(op, offset);
    if (id == kNone) return kNone;
    auto& stream = tree_[id];
    const bool keeps = tree_.keeps_place(id, Tree::key_of(true, op, offset + bytes));
    if (!keeps) tree_.remove(id);
    --ends_[place_of(stream.key)];
    tree_.set_key(id, stream.key + bytes);
    ++ends_[place_of(stream.key)];
    stream.bytes += bytes;
    ++stream.requests;
    if (!keeps) tree_.insert(id);
    renew(id);
    return id;
  }

  // Replace the oldest stream.
  Id start(std::uint64_t key, std::uint64_t bytes, std::uint32_t requests) {
    const Id id = after_[kRoot];
    tree_.remove(id);
    --ends_[place_of(tree_[id].key)];
    ++ends_[place_of(key)];
    tree_[id].key = key;
    tree_[id].bytes = bytes;
    tree_[id].requests = requests;
    tree_.insert(id);
    renew(id);
    return id;
  }

  // The stream becomes the oldest one, and keeps its place in the tree.
  void invalidate(Id id) {
    tree_.set_key(id, tree_[id].key & ~Tree::key_of(true, Op::kRead, 0));
    unlink(id);
    link(id, after_[kRoot]);
  }

 private:
  static constexpr Id kRoot = static_cast<Id>(kStreams);
  static constexpr unsigned kPlaceBits = 10;

  // The place of a key in `ends_`, whether it is valid or not.
  static std::size_t place_of(std::uint64_t key) {
    return (key << 1) * 0x9e3779b97f4a7c15 >> (64 - kPlaceBits);
  }

  void renew(Id id) {
    unlink(id);
    link(id, kRoot);
  }
  void unlink(Id id) {
    after_[before_[id]] = after_[id];
    before_[after_[id]] = before_[id];
  }
  // Link a stream before another one, which is older unless it is the root.
  void link(Id id, Id next) {
    after_[id] = next;
    before_[id] = before_[next];
    after_[before_[next]] = id;
    before_[next] = id;
  }

  Tree tree_;
  // Streams by place: a search without any finds none. Most requests continue no stream.
  std::array<std::uint8_t, std::size_t{1} << kPlaceBits> ends_{};
  // A ring from the root to the oldest, and on to the latest.
  std::array<Id, kStreams + 1> after_ = ring();
  std::array<Id, kStreams + 1> before_ = ring();

  static constexpr std::array<Id, kStreams + 1> ring() {
    std::array<Id, kStreams + 1> of{};
    of.fill(kRoot);
    return of;
  }
};

}  // namespace mcsim
