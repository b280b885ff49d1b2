"""The retrievers below the root of each trace, in the order in which they started."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_DEEPEST = 1000  # a longer chain of parents must be a cycle


@dataclass(frozen=True)
class Retrievals:
    """Rows of roots and of the retrievers below them: `retrievers[bounds[i]:bounds[i + 1]]` are below `roots[i]`."""

    roots: np.ndarray
    bounds: np.ndarray
    retrievers: np.ndarray

    def below(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The retrievers below any of these rows, preceded by the position in `rows` of the root of each."""
        position = np.flatnonzero(np.isin(rows, self.roots))
        at = np.searchsorted(self.roots, rows[position])
        starts, stops = self.bounds[at], self.bounds[at + 1]
        slices = [self.retrievers[low:high] for low, high in zip(starts, stops, strict=True)]
        return np.repeat(position, stops - starts), np.concatenate([self.retrievers[:0], *slices])


def find_retrievals(
    ids: np.ndarray, started: np.ndarray, orphan: np.ndarray, retriever: np.ndarray, chain: np.ndarray
) -> Retrievals:
    """The outermost retrievers below each root that is a chain or an agent.

    `ids` has hashes of span, parent and trace; `orphan` is true for a span without a parent. If parents are missing
    from an export, a retriever belongs to the root of its trace, if there is only one.

    >>> ids = np.array([[1, 0, 7], [2, 1, 7], [3, 2, 7]], np.uint64)
    >>> no, yes = np.zeros(3, bool), np.ones(3, bool)
    >>> found = find_retrievals(ids, np.arange(3), np.arange(3) == 0, np.arange(3) > 0, np.arange(3) == 0)
    >>> found.roots.tolist(), found.retrievers.tolist()
    ([0], [1])
    """
    span, parent, trace = ids.T
    above = _find(_pair(trace, span), _pair(trace, parent))
    above[orphan] = -1
    top, inner = np.flatnonzero(retriever), np.zeros(int(retriever.sum()), bool)
    for _ in range(_DEEPEST):
        up = above[top]
        climbing = up >= 0
        if not climbing.any():
            break
        inner |= climbing & retriever[up]
        top = np.where(climbing, up, top)
    root = np.where(orphan[top], top, _only_root(trace, orphan)[top])
    row = np.flatnonzero(retriever)
    counts = ~inner & (root >= 0) & chain[root]
    row, root = row[counts], root[counts]
    order = np.lexsort((row, started[row], root))
    roots, starts = np.unique(root[order], return_index=True)
    return Retrievals(roots, np.append(starts, len(order)), row[order])


def _pair(trace: np.ndarray, span: np.ndarray) -> np.ndarray:
    """One number for a span and its trace: span ids need to be unique only within their trace."""
    return np.asarray(trace * np.uint64(0x9E3779B97F4A7C15) ^ span)


def _find(spans: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The row of each wanted span, -1 if there is none."""
    if not len(spans):
        return np.full(len(wanted), -1)
    order = np.argsort(spans, kind="stable")
    place = np.minimum(np.searchsorted(spans[order], wanted), len(spans) - 1)
    return np.where(spans[order][place] == wanted, order[place], -1)


def _only_root(trace: np.ndarray, orphan: np.ndarray) -> np.ndarray:
    """The root of each row's trace, -1 if the trace has no root or several."""
    rows = np.flatnonzero(orphan)
    traces, first, times = np.unique(trace[rows], return_index=True, return_counts=True)
    roots = np.append(np.where(times == 1, rows[first], -1), -1)  # the last is for a trace without a root
    return np.asarray(roots[_find(traces, trace)])
