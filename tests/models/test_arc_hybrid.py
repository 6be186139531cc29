"""The arc-hybrid system and its oracle: against all ways to go on from a configuration of small sentences."""

from functools import cache

import torch
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import all_trees, crosses

from regard.models.parsing.arc_hybrid import LEFT, MOVES, RIGHT, SHIFT, Configurations

WORDS = 5
PROJECTIVE = {words: [tree for tree in all_trees(words) if not crosses(tree)] for words in range(1, WORDS + 1)}
trees = st.integers(1, WORDS).flatmap(lambda words: st.sampled_from(PROJECTIVE[words]))


def after(stack: tuple[int, ...], front: int, words: int, move: int) -> tuple[tuple[int, ...], int, dict[int, int]]:
    """The stack and the buffer after a move, and the arc it adds: as the papers define them."""
    if move == SHIFT:
        return (*stack, front), front + 1, {}
    head = stack[-2] if move == RIGHT else (front if front <= words else 0)
    return stack[:-1], front, {stack[-1]: head}


def moves_from(stack: tuple[int, ...], front: int, words: int) -> list[int]:
    possible = {
        SHIFT: front <= words,
        LEFT: bool(stack) and (front <= words or len(stack) == 1),
        RIGHT: len(stack) > 1,
    }
    return [move for move, may in possible.items() if may]


@cache
def most(stack: tuple[int, ...], front: int, gold: tuple[int, ...]) -> int:
    """Most gold arcs that can still be found."""
    options = []
    for move in moves_from(stack, front, len(gold)):
        next_stack, next_front, arcs = after(stack, front, len(gold), move)
        options.append(sum(gold[word - 1] == head for word, head in arcs.items()) + most(next_stack, next_front, gold))
    return max(options, default=0)


def padded(rows: list[tuple[int, ...]]) -> torch.Tensor:
    return torch.tensor([[*row, *[0] * (WORDS - len(row))] for row in rows])


def start(gold: list[tuple[int, ...]]) -> Configurations:
    return Configurations.start(torch.tensor([len(each) for each in gold]), WORDS)


@given(st.lists(trees, min_size=1, max_size=3), st.data())
def test_a_move_costs_the_gold_arcs_that_it_makes_unreachable(gold: list[tuple[int, ...]], data: st.DataObject) -> None:
    now, states = start(gold), [((), 1) for _ in gold]
    for _ in range(2 * WORDS):
        costs, allowed, chosen = now.costs(padded(gold)), now.allowed, []
        for row, (tree, (stack, front)) in enumerate(zip(gold, states, strict=True)):
            moves = moves_from(stack, front, len(tree))
            assert allowed[row].nonzero().flatten().tolist() == moves
            for move in moves:
                next_stack, next_front, arcs = after(stack, front, len(tree), move)
                found = sum(tree[word - 1] == head for word, head in arcs.items())
                lost = most(stack, front, tree) - found - most(next_stack, next_front, tree)
                assert costs[row, move] == lost, (tree, stack, front, move)
            chosen.append(data.draw(st.sampled_from(moves)) if moves else SHIFT)
            if moves:
                states[row] = after(stack, front, len(tree), chosen[row])[:2]
        now = now.make(torch.tensor(chosen))
    assert not now.allowed.any()


@given(st.lists(trees, min_size=1, max_size=4))
def test_moves_without_cost_lead_to_the_gold_tree(gold: list[tuple[int, ...]]) -> None:
    now = start(gold)
    for _ in range(2 * WORDS):
        free = now.allowed & (now.costs(padded(gold)) == 0)
        assert torch.equal(free.any(1), now.allowed.any(1))
        now = now.make(free.long().argmax(1))
    assert torch.equal(now.heads, padded(gold))


@given(st.lists(trees, min_size=1, max_size=4), st.data())
def test_any_moves_lead_to_a_projective_tree_with_one_root(gold: list[tuple[int, ...]], data: st.DataObject) -> None:
    now = start(gold)
    for _ in range(2 * WORDS):
        scores = torch.tensor(
            [data.draw(st.lists(st.floats(0, 1), min_size=MOVES, max_size=MOVES)) for _ in gold]
        ).masked_fill(~now.allowed, -1)
        now = now.make(scores.argmax(1))
    for heads, tree in zip(now.heads.tolist(), gold, strict=True):
        assert tuple(heads[: len(tree)]) in PROJECTIVE[len(tree)]
