"""What A-GEM and OGD make of a gradient, for a few numbers instead of thousands: pure functions and words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacl_lib.errors import TaclError

SAME = 1e-9  #: relative: below it a direction counts as already in the span, and a product as zero


@dataclass(frozen=True)
class AgemState:
    """One step of A-GEM. Vectors are float64 ``[n]``."""

    g: np.ndarray
    g_ref: np.ndarray
    product: float  #: ⟨g, g_ref⟩
    projects: bool
    result: np.ndarray  #: g̃: along its negative the weights are moved
    angle: float | None  #: degrees between g and g_ref; None where one of them is zero
    result_angle: float | None  #: between g̃ and g_ref
    kept: float  #: |g̃| / |g|; 1 where g is zero

    def sentence(self) -> str:
        """What happens, in words."""
        if not self.g.any():
            return "g is zero: the batch is learned, and nothing moves."
        if not self.g_ref.any():
            return "g_ref is zero: the memory does not object to anything, so the step is along g itself."
        if not self.projects:
            effect = "lowers the loss of the memory as well" if self.product > 0 else "leaves the memory's loss alone"
            return f"g · g_ref is not negative: a step against g {effect}, so A-GEM takes g as it is."
        if self.kept < 1e-6:
            return "g and g_ref are opposite: all of g would harm the memory, and nothing is left of it."
        return (
            "g · g_ref is negative: a step against g would raise the loss of the memory. A-GEM takes the part along "
            f"g_ref away; what is left is at a right angle to g_ref, and has {self.kept:.0%} of the length of g."
        )


def agem_state(g: Sequence[float], g_ref: Sequence[float]) -> AgemState:
    """The paper's Algorithm 1: if ⟨g, g_ref⟩ < 0, g̃ = g - (⟨g, g_ref⟩ / ⟨g_ref, g_ref⟩) g_ref, else g̃ = g."""
    g, g_ref = _vector("g", g), _vector("g_ref", g_ref)
    if g.shape != g_ref.shape:
        raise TaclError(f"g has {len(g)} numbers and g_ref {len(g_ref)}; give both the same length.")
    product = float(g @ g_ref)
    if abs(product) < SAME * np.linalg.norm(g) * np.linalg.norm(g_ref):
        product = 0.0  # a right angle up to rounding: cos 90° is not 0 in floating point
    projects = product < 0
    result = g - product / float(g_ref @ g_ref) * g_ref if projects else g.copy()
    if np.linalg.norm(result) < SAME * np.linalg.norm(g):
        result = np.zeros_like(g)
    return AgemState(g, g_ref, product, projects, result, _angle(g, g_ref), _angle(result, g_ref), _kept(result, g))


@dataclass(frozen=True)
class OgdState:
    """One step of OGD. Vectors are float64 ``[n]``; k stored gradients span r dimensions."""

    g: np.ndarray
    stored: np.ndarray  #: ``[k, n]``
    basis: np.ndarray  #: ``[r, n]``, orthonormal, of the span of the stored ones
    removed: np.ndarray  #: the part of g inside the span
    result: np.ndarray  #: ĝ: what is left of g, at a right angle to every stored gradient
    kept: float  #: |ĝ| / |g|; 1 where g is zero
    products: np.ndarray  #: ``[k]``: ⟨g, u_i⟩
    result_products: np.ndarray  #: ``[k]``: ⟨ĝ, u_i⟩, zero up to rounding

    @property
    def rank(self) -> int:
        return len(self.basis)

    def sentence(self) -> str:
        """What happens, in words."""
        count, free = len(self.stored), len(self.g) - self.rank
        if not count:
            return "Nothing is stored: every direction is free, and the step is along g itself."
        span = {0: "no direction", 1: "a line", 2: "a plane", 3: "the whole space"}.get(
            self.rank, f"{self.rank} dimensions"
        )
        stored = f"{count} stored gradient{'s' if count > 1 else ''} span{'s' if count == 1 else ''} {span}"
        if self.rank < count:
            stored += " (one more lies in the span of the others and protects nothing new)"
        if free == 0:
            return f"{stored}: no direction is left, ĝ = 0, and the network cannot learn any more."
        if self.kept < 1e-6:
            return f"{stored}; g lies in it, so nothing of g is left."
        left = {1: "one direction", 2: "a plane"}.get(free, f"{free} dimensions")
        return f"{stored}; {left} at a right angle to it is free. {self.kept:.0%} of the length of g is left."


def ogd_state(g: Sequence[float], stored: Sequence[Sequence[float]]) -> OgdState:
    """The paper's Algorithm 2: stored gradients are made orthogonal one by one, and ĝ = g - Σ_v (⟨g, v⟩ / ⟨v, v⟩) v."""
    g = _vector("g", g)
    stored = np.array([_vector("a stored gradient", u) for u in stored], float).reshape(-1, *g.shape)
    basis: list[np.ndarray] = []
    for u in stored:
        v = _without(u, basis)
        if np.linalg.norm(v) > SAME * np.linalg.norm(u):
            basis.append(v / np.linalg.norm(v))
    result = _without(g, basis)
    if np.linalg.norm(result) < SAME * np.linalg.norm(g):
        result = np.zeros_like(g)
    rows = np.array(basis).reshape(-1, len(g))
    return OgdState(g, stored, rows, g - result, result, _kept(result, g), stored @ g, stored @ result)


def _without(vector: np.ndarray, basis: list[np.ndarray]) -> np.ndarray:
    # Twice: what rounding leaves of the basis after the first time is gone after the second.
    for _ in range(2):
        for direction in basis:
            vector = vector - (vector @ direction) * direction
    return vector


def _vector(name: str, values: Sequence[float]) -> np.ndarray:
    vector = np.asarray(values, float)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise TaclError(f"{name} must be a list of finite numbers, not {values!r}.")
    return vector


def _angle(a: np.ndarray, b: np.ndarray) -> float | None:
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.degrees(np.arccos(np.clip(a @ b / lengths, -1, 1)))) if lengths else None


def _kept(result: np.ndarray, g: np.ndarray) -> float:
    length = np.linalg.norm(g)
    return float(np.linalg.norm(result) / length) if length else 1.0
