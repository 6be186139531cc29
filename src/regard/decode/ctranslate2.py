"""CTranslate2 as an engine: the same searches, as far as it knows them, by a runtime made for CPUs.

Where its outputs may differ from our own:

- With a length penalty of 0 a search does not end when `beam` hypotheses have finished, but once the likeliest of a
  step has, and `n_best` in all.
- A token that is never written may hold a place of the beam for a while.
- END before `least` tokens is forbidden before probabilities are computed, so that other tokens get its share.
- Rounding, and much more of it with int8.

Whatever meets a rule of ours that CTranslate2 does not know, the limit of an output's length or a token that is never
written, is searched for again by our own engine.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from regard.decode.constraints import NEVER
from regard.decode.corpus import Progress, batches_by_length, decode_all
from regard.decode.export import ctranslate2
from regard.decode.ranking import Hypothesis
from regard.errors import ModelError, UsageError
from regard.models import Generator
from regard.recipe import Decoding
from regard.tokens.vocabulary import END

BATCH_TOKENS = 2048
"""Source tokens of a batch at most: with more, a processor is slower, and fewer batches are left for its workers."""


class CTranslate2:
    """A model that `regard.decode.export` wrote, loaded into CTranslate2, and the model it was made from.

    `longest` is the most positions it has; `threads` is how many batches are worked on at the same time.
    """

    def __init__(self, folder: Path, model: Generator, *, longest: int, compute: str, threads: int) -> None:
        self.model, self.longest, self.compute = model, longest, compute
        before = torch.get_num_threads()
        try:
            self._translator = ctranslate2().Translator(
                str(folder), device="cpu", compute_type=compute, inter_threads=threads, intra_threads=1
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"{folder}: CTranslate2 cannot load it: {error}; delete this folder, it is made anew when needed"
            ) from None
        finally:
            # Both have their threads from OpenMP, where CTranslate2 asks for as few as it needs, for torch too.
            torch.set_num_threads(before)

    def decode_all(
        self,
        sources: Sequence[Sequence[int]],
        settings: Decoding,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        words: Sequence[Sequence[int]] | None = None,
        on_progress: Progress | None = None,
    ) -> list[list[Hypothesis]]:
        """The outputs for each source, as `regard.decode.decode_all` gives them; no exported model copies `words`."""
        _check_can_search(settings, prefixes)
        if settings.precision == "int8" and self.compute != "int8":
            raise UsageError(
                "decode.precision = 'int8' is that of our own engine; use --engine ctranslate2:int8, or own"
            )
        limits = [settings.longest_output(len(source)) for source in sources]
        self._check_lengths(sources, limits)
        begun = []
        batch_tokens = min(settings.batch_tokens, BATCH_TOKENS)
        for chosen in batches_by_length([len(source) + 1 for source in sources], batch_tokens):
            rows = [[*map(str, sources[example]), str(END)] for example in chosen]
            most = max(limits[example] for example in chosen)
            begun.append((chosen, self._translator.translate_batch(rows, **_options(settings, most))))
        found: dict[int, list[Hypothesis]] = {}
        for chosen, results in begun:
            for example, result in zip(chosen, results, strict=True):
                found[example] = _hypotheses(result.result(), settings.length_penalty)
            if on_progress is not None:
                on_progress(len(found), len(sources))
        again = [example for example, limit in enumerate(limits) if _breaks_rules(found[example], limit)]
        own = decode_all(self.model, [sources[example] for example in again], settings)
        found.update(zip(again, own, strict=True))
        return [found[example] for example in range(len(sources))]

    def _check_lengths(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> None:
        for example, (source, limit) in enumerate(zip(sources, limits, strict=True)):
            if max(len(source), limit) + 1 > self.longest:
                raise UsageError(
                    f"example {example}: a source of {len(source)} tokens and an output of up to {limit} do not fit "
                    f"the {self.longest} positions of an exported model; shorten the text, lower "
                    "decode.longest_factor or decode.longest_extra, or use --engine own"
                )


def _check_can_search(settings: Decoding, prefixes: Sequence[Sequence[int]] | None) -> None:
    if settings.method == "sample":
        raise UsageError("decode.method = 'sample': CTranslate2 draws other samples than ours; use --engine own")
    if settings.coverage_penalty:
        raise UsageError(
            f"decode.coverage_penalty = {settings.coverage_penalty}: CTranslate2 counts coverage in another way; "
            "set it to 0 or use --engine own"
        )
    if settings.no_repeat:
        raise UsageError(
            f"decode.no_repeat = {settings.no_repeat}: CTranslate2 would rank outputs in another way then; "
            "set it to 0 or use --engine own"
        )
    if prefixes is not None:
        raise UsageError("outputs with a given beginning are not for CTranslate2; use --engine own")


def _options(settings: Decoding, most: int) -> dict[str, Any]:
    """How CTranslate2 calls it; its lengths count END."""
    greedy = settings.method == "greedy"
    return {
        "beam_size": 1 if greedy else settings.beam,
        "num_hypotheses": 1 if greedy else settings.n_best,
        "length_penalty": settings.length_penalty,
        "min_decoding_length": settings.least,
        "max_decoding_length": most + 1,
        "max_input_length": 0,
        "return_scores": True,
        "return_end_token": True,
        "asynchronous": True,
    }


def _hypotheses(result: Any, length_penalty: float) -> list[Hypothesis]:
    found = []
    for names, score in zip(result.hypotheses, result.scores, strict=True):
        written = tuple(map(int, names))
        finished = written[-1:] == (END,)
        log_prob = score * max(len(written), 1) ** length_penalty
        found.append(Hypothesis(written[:-1] if finished else written, score, log_prob, finished))
    return sorted(found, key=lambda hypothesis: hypothesis.score, reverse=True)


def _breaks_rules(hypotheses: list[Hypothesis], limit: int) -> bool:
    """Whether the search has been where our own would not have gone."""
    return any(
        not one.finished or len(one.tokens) > limit or any(token in NEVER for token in one.tokens) for one in hypotheses
    )
