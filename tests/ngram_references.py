"""n-gram models as the papers define them, one word at a time; their tables, looked up the same way; and a strategy for
their text."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from hypothesis import strategies as st

from regard.models.ngram.table import NgramTable

SIZE = 9
UNKNOWN, BEGIN, END = 1, 2, 3
Text = Sequence[int]
Probability = Callable[[int, tuple[int, ...]], float]
"""Of a word after a context."""

WRITTEN = tuple(word for word in range(SIZE) if word not in (0, BEGIN))
texts = st.lists(st.lists(st.sampled_from((UNKNOWN, *range(4, SIZE))), max_size=7), max_size=12)


def occurrences(texts: Sequence[Text], order: int) -> Counter[tuple[int, ...]]:
    """How often each n-gram of this length occurs, a single BEGIN included."""
    lines = [(BEGIN, *text, END) for text in texts]
    return Counter(line[at : at + order] for line in lines for at in range(len(line) - order + 1))


def kneser_ney(texts: Sequence[Text], order: int) -> Probability:
    """Interpolated modified Kneser–Ney (Chen and Goodman 1998), with KenLM's discounts where none can be told."""
    tables: list[Counter[tuple[int, ...]]] = []
    for length in range(1, order + 1):
        counts = occurrences(texts, length)
        if length < order:
            before = Counter(gram[1:] for gram in occurrences(texts, length + 1))
            counts = Counter({gram: count if gram[0] == BEGIN else before[gram] for gram, count in counts.items()})
        tables.append(counts)
    del tables[0][(BEGIN,)]
    discounts = [_discounts(table) for table in tables]

    @cache
    def probability(word: int, context: tuple[int, ...]) -> float:
        table, discount = tables[len(context)], discounts[len(context)]
        after = [count for gram, count in table.items() if gram[:-1] == context]
        lower = probability(word, context[1:]) if context else 1 / len(WRITTEN)
        if not after:
            return lower
        count = table[*context, word]
        taken = sum(discount[min(each, 3)] for each in after)
        return (count - discount[min(count, 3)] + taken * lower) / sum(after)

    return probability


def _discounts(table: Counter[tuple[int, ...]]) -> list[float]:
    n = Counter(table.values())
    if not (n[1] and n[2] and n[3]):
        return [0, 0.5, 1, 1.5]
    y = n[1] / (n[1] + 2 * n[2])
    found = [0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
    return found if all(0 <= amount <= count for count, amount in enumerate(found)) else [0, 0.5, 1, 1.5]


def add_k(texts: Sequence[Text], order: int, k: float) -> Probability:
    """Every count is k more (Lidstone 1920); a line is begun by as many BEGINs as a context has words."""
    lines = [(*[BEGIN] * (order - 1), *text, END) for text in texts]
    grams = Counter(line[at : at + order] for line in lines for at in range(len(line) - order + 1))

    def probability(word: int, context: tuple[int, ...]) -> float:
        if context[:1] == (BEGIN,):
            context = (*[BEGIN] * (order - 1 - len(context)), *context)
        after = sum(count for gram, count in grams.items() if gram[:-1] == context)
        return (grams[*context, word] + k) / (after + k * len(WRITTEN))

    return probability


def stupid_backoff(texts: Sequence[Text], order: int, factor: float) -> Probability:
    """Relative frequencies, or those after a shorter context times a factor (Brants et al. 2007), which is not taken
    for contexts that nothing follows."""
    tables = [occurrences(texts, length) for length in range(1, order + 1)]
    del tables[0][(BEGIN,)]

    def probability(word: int, context: tuple[int, ...]) -> float:
        after = sum(count for gram, count in tables[len(context)].items() if gram[:-1] == context)
        if count := tables[len(context)][*context, word]:
            return count / after
        if not context:
            return 0.0 if after else 1 / len(WRITTEN)
        return (factor if after else 1) * probability(word, context[1:])

    return probability


def contexts_of(text: Text, order: int) -> list[tuple[int, ...]]:
    """What stands before each word of a line, and before its end, as far as a model of this order sees it."""
    line = (BEGIN, *text)
    return [line[max(0, end - order + 1) : end] for end in range(1, len(line) + 1)]


def lines_of(texts: Sequence[Text]) -> list[int]:
    """All lines one after another."""
    return [token for text in texts for token in (BEGIN, *text, END)]


def log10_probs(table: NgramTable, tokens: Sequence[int]) -> list[float]:
    """log10 of the probability of every token after those before it, looked up n-gram by n-gram.

    What stands before BEGIN, or ends with END, is forgotten; BEGIN itself is given, not predicted: its log10 is 0.
    """
    nodes = {int(key): place + table.size for place, key in enumerate(table.keys)}
    found, context = [], -1
    for word in tokens:
        if word == BEGIN:
            found.append(0.0)
            context = BEGIN
            continue
        total = 0.0
        while context >= 0 and context * table.size + word not in nodes:
            total += float(table.back_offs[context])
            context = int(table.links[context])
        node = nodes[context * table.size + word] if context >= 0 else word
        found.append(total + float(table.log_probs[node]))
        context = BEGIN if word == END else node if node < len(table.back_offs) else int(table.links[node])
    return found


def perplexity(table: NgramTable, texts: Iterable[Sequence[int]]) -> float:
    """Per token, of texts each on its own between BEGIN and END, where END counts as a token."""
    tokens = [token for text in texts for token in (BEGIN, *text, END)]
    return float(10 ** (-sum(log10_probs(table, tokens)) / (len(tokens) - tokens.count(BEGIN))))
