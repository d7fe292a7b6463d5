"""The sequential cut-off of Open CAS, rule by rule: its streams are in red-black trees.

A stream that moves from the queue to the core becomes invalid, and keeps its place in the tree of
the queue. Until its reuse, searches below it can miss streams. So the shape of the tree matters.
"""

from __future__ import annotations

from collections import defaultdict

_BLOCK = 4096
_QUEUE_STREAMS, _CORE_STREAMS = 64, 128
_FULL_MARGIN = 512


class _Stream:
    """A stream, and its node: others with the same key are in the list of one that is linked."""

    def __init__(self, end: int) -> None:
        self.end, self.is_write, self.is_valid = end, False, False
        self.bytes = self.requests = 0
        self.left: _Stream | None = None
        self.right: _Stream | None = None
        self.parent: _Stream | None = None
        self.is_red = False
        self.same: list[_Stream] = []

    def key(self) -> tuple[bool, bool, int]:
        return self.is_valid, self.is_write, self.end


class _Tree:
    def __init__(self) -> None:
        self.root: _Stream | None = None
        self.linked: dict[_Stream, _Stream] = {}  # by stream that is in the list of another

    def find(self, key: tuple[bool, bool, int]) -> _Stream | None:
        """Return the stream with this key; of several, the longest but the linked one."""
        at = self.root
        while at is not None and at.key() != key:
            at = at.left if key < at.key() else at.right
        return max(at.same, key=lambda stream: stream.bytes) if at is not None and at.same else at

    def insert(self, new: _Stream) -> None:
        new.left = new.right = new.parent = None
        new.same = []
        new.is_red = self.root is not None
        at, parent = self.root, None
        while at is not None:
            if at.key() == new.key():
                at.same.append(new)
                self.linked[new] = at
                return
            parent, at = at, at.left if new.key() < at.key() else at.right
        new.parent = parent
        if parent is None:
            self.root = new
        elif new.key() < parent.key():
            parent.left = new
        else:
            parent.right = new
        self._balance(new)

    def remove(self, old: _Stream) -> None:
        if old in self.linked:
            self.linked.pop(old).same.remove(old)
            return
        if old.same:
            heir = old.same.pop(0)
            del self.linked[heir]
            heir.same, old.same = old.same, []
            self.linked |= dict.fromkeys(heir.same, heir)
            self._exchange(old, heir)
            return
        while old.left is not None or old.right is not None:
            heir = old.right or old.left
            while old.left is not None and heir is not None and heir.left is not None:
                heir = heir.left
            assert heir is not None
            self._exchange(old, heir)
        if not old.is_red:
            self._fill(old)
        self._replace(old, None)

    def can_move(self, stream: _Stream, end: int) -> bool:
        """Return whether a stream that ends later keeps its node."""
        if stream in self.linked or stream.same:
            return False
        key = (True, stream.is_write, end)
        at = self.root
        while at is not None and at is not stream:
            at = at.left if key < at.key() else at.right
        if at is None:
            return False
        after = at.right
        while after is not None and after.left is not None:
            after = after.left
        return after is None or key < after.key()

    def _replace(self, old: _Stream, new: _Stream | None) -> None:
        """Link a node or none from the parent of `old`."""
        if old.parent is None:
            self.root = new
        elif old.parent.left is old:
            old.parent.left = new
        else:
            old.parent.right = new

    def _exchange(self, one: _Stream, other: _Stream) -> None:
        """Exchange the places and colours of a linked node and another one."""
        links = [(each.left, each.right, each.parent, each.is_red) for each in (one, other)]
        swap: dict[_Stream | None, _Stream] = {one: other, other: one}
        for each, (left, right, parent, is_red) in zip((other, one), links, strict=True):
            each.left, each.right = swap.get(left, left), swap.get(right, right)
            each.parent, each.is_red = swap.get(parent, parent), is_red
        if self.root is one:
            self.root = other
        for each, before in ((other, one), (one, other)):
            for child in (each.left, each.right):
                if child is not None:
                    child.parent = each
            above = each.parent
            if above is not None and above not in (one, other):
                above.left, above.right = (
                    each if child is before else child for child in (above.left, above.right)
                )

    def _rotate(self, node: _Stream, to_left: bool) -> None:
        up = node.right if to_left else node.left
        assert up is not None
        inner = up.left if to_left else up.right
        self._replace(node, up)
        up.parent, node.parent = node.parent, up
        if to_left:
            node.right, up.left = inner, node
        else:
            node.left, up.right = inner, node
        if inner is not None:
            inner.parent = node

    def _balance(self, node: _Stream) -> None:
        while node.is_red and node.parent is not None and node.parent.is_red:
            parent = node.parent
            above = parent.parent
            if above is None:
                break
            is_left = above.left is parent
            uncle = above.right if is_left else above.left
            if uncle is not None and uncle.is_red:
                above.is_red, parent.is_red, uncle.is_red = True, False, False
                node = above
            elif node is (parent.right if is_left else parent.left):
                self._rotate(parent, to_left=is_left)
                node = parent
            else:
                self._rotate(above, to_left=not is_left)
                parent.is_red, above.is_red = above.is_red, parent.is_red
                node = parent
        assert self.root is not None
        self.root.is_red = False

    def _fill(self, node: _Stream) -> None:
        """Restore the number of black nodes on the path to a leaf that is to be removed."""
        while (parent := node.parent) is not None:
            is_left = parent.left is node
            sibling = parent.right if is_left else parent.left
            if sibling is None:
                node = parent
            elif sibling.is_red:
                parent.is_red, sibling.is_red = True, False
                self._rotate(parent, to_left=is_left)
            elif any(child is not None and child.is_red for child in (sibling.left, sibling.right)):
                self._borrow(parent, sibling, is_left)
                return
            else:
                sibling.is_red = True
                if parent.is_red:
                    parent.is_red = False
                    return
                node = parent

    def _borrow(self, parent: _Stream, sibling: _Stream, is_left: bool) -> None:
        """Rotate a red child of the sibling towards the side that lacks a black node."""
        takes_left = sibling.left is not None and sibling.left.is_red
        child = sibling.left if takes_left else sibling.right
        assert child is not None
        if takes_left != is_left:
            child.is_red, sibling.is_red = sibling.is_red, parent.is_red
        else:
            child.is_red = parent.is_red
            self._rotate(sibling, to_left=not is_left)
        self._rotate(parent, to_left=is_left)
        parent.is_red = False


class _Streams:
    """The streams of a queue or of a core, the oldest first."""

    def __init__(self, count: int) -> None:
        self.by_age = [_Stream(_BLOCK * number) for number in range(count)]
        self.tree = _Tree()
        for stream in self.by_age:
            self.tree.insert(stream)

    def find(self, offset: int, write: bool) -> _Stream | None:
        return self.tree.find((True, write, offset))

    def extend(self, offset: int, size: int, write: bool) -> _Stream | None:
        stream = self.find(offset, write)
        if stream is None:
            return None
        keeps = self.tree.can_move(stream, offset + size)
        if not keeps:
            self.tree.remove(stream)
        stream.end = offset + size
        stream.bytes += size
        stream.requests += 1
        if not keeps:
            self.tree.insert(stream)
        self._renew(stream)
        return stream

    def start(self, end: int, size: int, requests: int, write: bool) -> _Stream:
        stream = self.by_age[0]
        self.tree.remove(stream)
        stream.end, stream.is_write, stream.is_valid = end, write, True
        stream.bytes, stream.requests = size, requests
        self.tree.insert(stream)
        self._renew(stream)
        return stream

    def _renew(self, stream: _Stream) -> None:
        self.by_age.remove(stream)
        self.by_age.append(stream)

    def invalidate(self, stream: _Stream) -> None:
        stream.is_valid = False
        self.by_age.remove(stream)
        self.by_age.insert(0, stream)


class NaiveStreams:
    """Streams of the queue, and of a core device after some requests."""

    def __init__(self, policy: str, threshold: int, promoted_after: int) -> None:
        self.policy, self.threshold, self.promoted_after = policy, threshold, promoted_after
        self.of_queue = _Streams(_QUEUE_STREAMS)
        self.of_core = defaultdict[int, _Streams](lambda: _Streams(_CORE_STREAMS))

    def cuts_off(
        self, core: int, block: int, length: int, write: bool, free: int, lines: int
    ) -> bool:
        """Return whether a request passes by the cache."""
        if self.policy == "never" or (self.policy == "full" and free > _FULL_MARGIN + lines):
            return False
        offset = block * _BLOCK
        found = self.of_queue.find(offset, write) or self.of_core[core].find(offset, write)
        return found is not None and found.bytes + length * _BLOCK >= self.threshold

    def update(self, core: int, block: int, length: int, write: bool) -> None:
        if self.policy == "never":
            return
        offset, size = block * _BLOCK, length * _BLOCK
        if self.of_core[core].extend(offset, size, write) is not None:
            return
        stream = self.of_queue.extend(offset, size, write)
        if stream is None:
            stream = self.of_queue.start(offset + size, size, 1, write)
        if stream.requests >= self.promoted_after:
            self.of_core[core].start(stream.end, stream.bytes, stream.requests, stream.is_write)
            self.of_queue.invalidate(stream)
