#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/types.hpp"

namespace mcsim {

// A red-black tree of streams by (valid, write, end), as that of OCF (src/utils/utils_rbtree.c).
// Streams with the same key are in a ring, and one of them is in the tree. A stream that becomes
// invalid keeps its place, so searches below it can miss streams until it is removed: the shape of
// the tree matters, and insertions and removals have the order of rotations of OCF.
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
    Id left = kNone;
    Id right = kNone;
    Id parent = kNone;
    bool is_red = false;
    bool is_in_tree = false;
    Id next = kNone;  // in the ring of streams with the same key
    Id previous = kNone;
  };

  static std::uint64_t key_of(bool is_valid, Op op, std::uint64_t end) {
    return std::uint64_t{is_valid} << 63 | std::uint64_t{op == Op::kWrite} << 62 | end;
  }

  Stream& operator[](Id id) { return streams_[id]; }
  const Stream& operator[](Id id) const { return streams_[id]; }

  // The stream with this key. Of several, the longest but the one in the tree.
  Id find(std::uint64_t key) const {
    Id at = root_;
    while (at != kNone && streams_[at].key != key) at = below(at, key);
    if (at == kNone || streams_[at].next == at) return at;
    Id longest = streams_[at].next;
    for (Id other = streams_[longest].next; other != at; other = streams_[other].next) {
      if (streams_[other].bytes > streams_[longest].bytes) longest = other;
    }
    return longest;
  }

  void insert(Id id) {
    Stream& stream = streams_[id];
    stream.left = stream.right = stream.parent = kNone;
    stream.next = stream.previous = id;
    Id parent = kNone;
    for (Id at = root_; at != kNone; at = below(at, stream.key)) {
      if (streams_[at].key == stream.key) return insert_before(at, id);
      parent = at;
    }
    stream.is_in_tree = true;
    stream.parent = parent;
    stream.is_red = parent != kNone;
    if (parent == kNone) {
      root_ = id;
    } else if (stream.key < streams_[parent].key) {
      streams_[parent].left = id;
    } else {
      streams_[parent].right = id;
    }
    balance(id);
  }

  void remove(Id id) {
    Stream& stream = streams_[id];
    if (stream.next != id) {
      const Id heir = stream.next;
      streams_[heir].previous = stream.previous;
      streams_[stream.previous].next = heir;
      if (!stream.is_in_tree) return;
      exchange(id, heir);
      streams_[heir].is_in_tree = true;
      stream.is_in_tree = false;
      return;
    }
    while (stream.left != kNone || stream.right != kNone) exchange(id, replacement(id));
    if (!stream.is_red) fill(id);
    replace(id, kNone);
    stream.is_in_tree = false;
  }

  // Whether a stream keeps its place with this key, which is greater than its own.
  bool keeps_place(Id id, std::uint64_t key) const {
    if (!streams_[id].is_in_tree || streams_[id].next != id) return false;
    Id at = root_;
    while (at != kNone && at != id) at = below(at, key);
    if (at == kNone) return false;
    Id after = streams_[id].right;
    while (after != kNone && streams_[after].left != kNone) after = streams_[after].left;
    return after == kNone || key < streams_[after].key;
  }

 private:
  Id below(Id at, std::uint64_t key) const {
    return key < streams_[at].key ? streams_[at].left : streams_[at].right;
  }

  void insert_before(Id at, Id id) {
    streams_[id].is_in_tree = false;
    streams_[id].next = at;
    streams_[id].previous = streams_[at].previous;
    streams_[streams_[at].previous].next = id;
    streams_[at].previous = id;
  }

  // The node that takes the place of a node with children: the next one, or the only child.
  Id replacement(Id id) const {
    Id at = streams_[id].right != kNone ? streams_[id].right : streams_[id].left;
    if (streams_[id].left == kNone) return at;
    while (streams_[id].right != kNone && streams_[at].left != kNone) at = streams_[at].left;
    return at;
  }

  // Link another node or none from the parent of a node.
  void replace(Id id, Id other) {
    const Id parent = streams_[id].parent;
    if (parent == kNone) {
      root_ = other;
    } else if (streams_[parent].left == id) {
      streams_[parent].left = other;
    } else {
      streams_[parent].right = other;
    }
  }

  // Exchange the places and colours of a node and another one, which may be outside of the tree.
  void exchange(Id one, Id other) {
    Stream& a = streams_[one];
    Stream& b = streams_[other];
    const bool is_child = b.parent == one;
    const Id left = b.left;
    const Id right = b.right;
    const Id parent = b.parent;
    const bool is_red = b.is_red;
    const bool was_left = parent != kNone && streams_[parent].left == other;
    replace(one, other);
    b.parent = a.parent;
    b.is_red = a.is_red;
    b.left = is_child && was_left ? one : a.left;
    b.right = is_child && !was_left ? one : a.right;
    a.left = left;
    a.right = right;
    a.is_red = is_red;
    a.parent = is_child ? other : parent;
    if (!is_child && parent != kNone)
      (was_left ? streams_[parent].left : streams_[parent].right) = one;
    for (const Id id : {one, other}) {
      if (streams_[id].left != kNone) streams_[streams_[id].left].parent = id;
      if (streams_[id].right != kNone) streams_[streams_[id].right].parent = id;
    }
  }

  void rotate(Id id, bool to_left) {
    Stream& node = streams_[id];
    const Id up = to_left ? node.right : node.left;
    replace(id, up);
    streams_[up].parent = node.parent;
    node.parent = up;
    Id& outer = to_left ? node.right : node.left;
    Id& inner = to_left ? streams_[up].left : streams_[up].right;
    outer = inner;
    if (outer != kNone) streams_[outer].parent = id;
    inner = id;
  }

  bool is_red(Id id) const { return id != kNone && streams_[id].is_red; }

  void balance(Id id) {
    while (streams_[id].is_red && is_red(streams_[id].parent)) {
      const Id parent = streams_[id].parent;
      const Id above = streams_[parent].parent;
      if (above == kNone) break;
      const bool is_left = streams_[above].left == parent;
      const Id uncle = is_left ? streams_[above].right : streams_[above].left;
      if (is_red(uncle)) {
        streams_[above].is_red = true;
        streams_[parent].is_red = streams_[uncle].is_red = false;
        id = above;
      } else if (id == (is_left ? streams_[parent].right : streams_[parent].left)) {
        rotate(parent, is_left);
        id = parent;
      } else {
        rotate(above, !is_left);
        std::swap(streams_[parent].is_red, streams_[above].is_red);
        id = parent;
      }
    }
    streams_[root_].is_red = false;
  }

  // Restore the number of black nodes on the path to a leaf that is to be removed.
  void fill(Id id) {
    while (streams_[id].parent != kNone) {
      const Id parent = streams_[id].parent;
      const bool is_left = streams_[parent].left == id;
      const Id sibling = is_left ? streams_[parent].right : streams_[parent].left;
      if (sibling == kNone) {
        id = parent;
      } else if (is_red(sibling)) {
        streams_[parent].is_red = true;
        streams_[sibling].is_red = false;
        rotate(parent, is_left);
      } else if (is_red(streams_[sibling].left) || is_red(streams_[sibling].right)) {
        return borrow(parent, sibling, is_left);
      } else {
        streams_[sibling].is_red = true;
        if (is_red(parent)) {
          streams_[parent].is_red = false;
          return;
        }
        id = parent;
      }
    }
  }

  // Rotate a red child of the sibling towards the side that lacks a black node.
  void borrow(Id parent, Id sibling, bool is_left) {
    const bool takes_left = is_red(streams_[sibling].left);
    const Id child = takes_left ? streams_[sibling].left : streams_[sibling].right;
    if (takes_left != is_left) {
      streams_[child].is_red = streams_[sibling].is_red;
      streams_[sibling].is_red = streams_[parent].is_red;
    } else {
      streams_[child].is_red = streams_[parent].is_red;
      rotate(sibling, !is_left);
    }
    rotate(parent, is_left);
    streams_[parent].is_red = false;
  }

  std::array<Stream, kStreams> streams_{};
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
      tree_.insert(id);
      link(id, kRoot);
    }
  }

  Id find(Op op, std::uint64_t offset) const { return tree_.find(Tree::key_of(true, op, offset)); }
  const typename Tree::Stream& operator[](Id id) const { return tree_[id]; }

  // Add a request to the stream that it continues, if there is one.
  Id extend(Op op, std::uint64_t offset, std::uint64_t bytes) {
    const Id id = find(op, offset);
    if (id == kNone) return kNone;
    auto& stream = tree_[id];
    const bool keeps = tree_.keeps_place(id, Tree::key_of(true, op, offset + bytes));
    if (!keeps) tree_.remove(id);
    stream.key += bytes;
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
    tree_[id].key = key;
    tree_[id].bytes = bytes;
    tree_[id].requests = requests;
    tree_.insert(id);
    renew(id);
    return id;
  }

  // The stream becomes the oldest one, and keeps its place in the tree.
  void invalidate(Id id) {
    tree_[id].key &= ~Tree::key_of(true, Op::kRead, 0);
    unlink(id);
    link(id, after_[kRoot]);
  }

 private:
  static constexpr Id kRoot = static_cast<Id>(kStreams);

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
