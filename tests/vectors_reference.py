"""Learning vectors as plain loops over Python's numbers: what the compiled loops must agree with."""

import numpy as np

from regard.vectors.drawing import CELLS, REACH, logistic_table
from regard.vectors.sampling import Alias

MASK = 0xFFFF_FFFF_FFFF_FFFF
TABLE = logistic_table().astype(np.float64)


class Draws:
    """Knuth's linear congruential generator, as whole numbers."""

    def __init__(self, state: int) -> None:
        self.state = int(state)

    def advance(self) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return self.state

    def below(self, bound: int) -> int:
        return ((self.advance() >> 33) * bound) >> 31

    def odds(self) -> int:
        return self.advance() >> 32

    def negatives(self, word: int, count: int, table: Alias) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            drawn = self.below(len(table.odds))
            if self.odds() > table.odds[drawn]:
                drawn = int(table.alias[drawn])
            if drawn != word:
                found.append(drawn)
        return found


def logistic(at: float) -> float:
    return float(TABLE[min(max(int((at + REACH) * CELLS / (2 * REACH)), 0), CELLS - 1)])


def lines_of(tokens: np.ndarray, keep: np.ndarray, draws: Draws) -> list[tuple[int, list[int]]]:
    """The words of each line that are not skipped, and where in the stream the line begins. Draws are taken as each
    line is read, so this is a generator."""
    line: list[int] = []
    begin = 0
    for place, word in enumerate(tokens.tolist()):
        if word < 0:
            yield begin, line
            begin, line = place + 1, []
        elif draws.odds() <= keep[word]:
            line.append(word)
    if begin < len(tokens):
        yield begin, line


def learn(tokens, inputs, outputs, keep, table, rows, window, dynamic, rates, state, negatives, how):
    """Goes through a stream once, in float64; `how` is skipgram (all of a window share negatives), cbow or subwords."""
    draws = Draws(state)
    for begin, line in lines_of(tokens, keep, draws):
        rate = rates[0] + (rates[1] - rates[0]) * begin / len(tokens)
        for place, word in enumerate(line):
            reach = window - (draws.below(window) if dynamic else 0)
            company = [line[at] for at in range(max(0, place - reach), place)] + line[place + 1 : place + reach + 1]
            if not company:
                continue
            if how == "skipgram":
                targets = [word, *draws.negatives(word, negatives, table)]
                shared = outputs[targets].copy()
                before = shared.copy()
                for other in company:
                    predict(inputs, [other], shared, range(len(targets)), rate)
                np.add.at(outputs, targets, shared - before)
            elif how == "cbow":
                members = [row for other in company for row in rows[other]]
                predict(inputs, members, outputs, [word, *draws.negatives(word, negatives, table)], rate)
            else:
                for other in company:
                    predict(inputs, rows[word], outputs, [other, *draws.negatives(other, negatives, table)], rate)


def predict(inputs, members, outputs, targets, rate):
    """The average of some rows predicts the first of the targets, and not the others."""
    hidden = inputs[members].mean(axis=0)
    before = outputs[list(targets)]
    gradients = [((number == 0) - logistic(hidden @ output)) * rate for number, output in enumerate(before)]
    np.add.at(outputs, list(targets), np.outer(gradients, hidden))
    np.add.at(inputs, members, gradients @ before)
