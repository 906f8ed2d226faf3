"""The two-variable step: the paper's Lemma 2 and Table 2."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles import table_2
from usmo.solvers.pair import line_search, pair_step, slope_dn, slope_up, snapped

share = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
bound = st.floats(1e-3, 1e3)
value = st.floats(-20.0, 20.0)
curvature = st.one_of(st.just(0.0), st.floats(1e-6, 1e3))


@st.composite
def violating_pairs(draw, curvatures=curvature):
    """σ_i, σ_j, c2_i, c2_j, G_i, G_j, η, τ of a pair that violates τ-optimality, and φ'(0)."""
    ci, cj, G_i, tau, eta = draw(bound), draw(bound), draw(value), draw(st.floats(1e-6, 1.0)), draw(curvatures)
    si = ci * draw(st.one_of(st.sampled_from([0.0, 0.5]), st.floats(0.0, 0.99)))
    sj = cj * draw(st.one_of(st.sampled_from([0.5, 1.0]), st.floats(0.01, 1.0)))
    dn = slope_up(si, ci, G_i) + tau + draw(st.floats(1e-6, 20.0))
    G_j = slope_dn(sj, cj, 0.0) - dn
    return si, sj, ci, cj, G_i, G_j, eta, tau, slope_up(si, ci, G_i) - slope_dn(sj, cj, G_j)


def along(t, slope_terms, si, sj, ci, cj):
    G_i, G_j, eta = slope_terms
    hat = min(si + t, ci - si - t) + min(sj - t, cj - sj + t)
    return 0.5 * eta * t * t + (G_j - G_i) * t - hat


@given(share, share, bound, bound, value, value, st.one_of(curvature, st.floats(-50.0, -1e-3)))
def test_line_search_finds_the_lowest_point_of_the_segment(a, b, ci, cj, G_i, G_j, eta):
    si, sj = a * ci, b * cj
    assume(si < ci and sj > 0)
    slope = slope_up(si, ci, G_i) - slope_dn(sj, cj, G_j)
    t, decrease = line_search(slope, eta, si, sj, ci, cj)
    end = min(ci - si, sj)
    assert 0.0 <= t <= end
    terms = (G_i, G_j, eta)
    scale = 1.0 + ci + cj + (abs(G_i) + abs(G_j)) * end + abs(eta) * end**2
    grid = np.append(np.linspace(0.0, end, 200), np.clip([ci / 2 - si, sj - cj / 2], 0.0, end))
    lowest = min(along(g, terms, si, sj, ci, cj) for g in grid)
    here = along(t, terms, si, sj, ci, cj)
    assert here <= lowest + 1e-12 * scale
    assert abs(along(0.0, terms, si, sj, ci, cj) - here - decrease) <= 1e-12 * scale


@given(violating_pairs(), st.floats(0.1, 5.0), st.floats(0.1, 5.0), st.floats(-0.9, 0.9))
def test_line_search_agrees_with_the_papers_four_cases(pair, k_ii, k_jj, correlation):
    si, sj, ci, cj, G_i, G_j, _, _, slope = pair
    k_ij = correlation * np.sqrt(k_ii * k_jj)
    t, _ = line_search(slope, k_ii + k_jj - 2 * k_ij, si, sj, ci, cj)
    best, objective = table_2(si, sj, ci, cj, G_i, G_j, k_ii, k_jj, k_ij)
    assert abs(objective(sj - t) - objective(best)) <= 1e-11 * (1 + abs(objective(best)))


@given(violating_pairs())
def test_step_on_a_violating_pair_lowers_the_objective_as_lemma_2_proves(pair):
    si, sj, ci, cj, _, _, eta, tau, slope = pair
    t, decrease = line_search(slope, eta, si, sj, ci, cj)
    assert t > 0.0  # Lemma 2(a)
    norm = np.sqrt(2.0) * t
    assert decrease >= tau / (2 * np.sqrt(2.0)) * norm * (1 - 1e-12)


@given(violating_pairs())
def test_pair_is_not_violating_after_its_step(pair):
    si, sj, ci, cj, G_i, G_j, eta, tau, slope = pair
    new_i, new_j, _ = pair_step(slope, eta, si, sj, ci, cj)
    # G_i - G_j falls by η per unit moved; any split between the two gives the same slopes
    moved = new_i - si
    up, dn = slope_up(new_i, ci, G_i - 0.5 * eta * moved), slope_dn(new_j, cj, G_j + 0.5 * eta * moved)
    rounding = 1e-9 * (1.0 + abs(G_i) + abs(G_j) + eta * (ci + cj))
    assert dn - up <= tau + rounding
    back_up = slope_up(new_j, cj, G_j + 0.5 * eta * moved)
    back_dn = slope_dn(new_i, ci, G_i - 0.5 * eta * moved)
    assert back_dn - back_up <= tau + rounding


@given(st.floats(0.0, 1.0), bound)
def test_snapping_changes_by_rounding_only_and_gives_the_three_values_exactly(a, c2):
    assert abs(snapped(a * c2, c2) - a * c2) <= 1e-13 * c2
    for special in (0.0, 0.5 * c2, c2):
        assert snapped(special + 4e-16 * c2, c2) == special
        assert snapped(max(0.0, special - 4e-16 * c2), c2) == special
