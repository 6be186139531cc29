"""The names a recipe may use, and where their implementations are. Kinds with their own table are named with it.

A recipe knows names, not classes, so checking one needs no torch. A new score, cell or tokenizer is one class or
function in its room and one line here; another package registers its own through `regard.plugins`.
"""

from typing import Annotated, Any

from regard.recipe.section import Named
from regard.registry import Entry, Registry

SCORES: Registry[Any] = Registry(
    "score",
    {
        "dot": "regard.attention.scores:dot",
        "scaled_dot": "regard.attention.scores:scaled_dot",
        "multiplicative": "regard.attention.scores:multiplicative",
        "additive": Entry("regard.attention.scores:additive", uses=("hidden", "score_hidden")),
        "concatenation": Entry("regard.attention.scores:concatenation", uses=("hidden", "score_hidden")),
        "cosine": "regard.attention.scores:cosine",
        "inverse_distance": "regard.attention.scores:inverse_distance",
        "gaussian": "regard.attention.scores:gaussian",
    },
)
NORMALIZERS: Registry[Any] = Registry(
    "normalizer",
    {
        "softmax": "regard.attention.normalizers:softmax",
        "sparsemax": "regard.attention.normalizers:sparsemax",
        "entmax15": "regard.attention.normalizers:entmax15",
    },
)
POSITIONS: Registry[Any] = Registry(
    "position",
    {
        "none": "regard.attention.positions:none",
        "sinusoidal": "regard.attention.positions:sinusoidal",
        "learned": Entry("regard.attention.positions:learned", uses=("longest",)),
        "relative": Entry("regard.attention.positions:relative", uses=("clip",)),
        "rotary": "regard.attention.positions:rotary",
        "alibi": "regard.attention.positions:alibi",
    },
)
CELLS: Registry[Any] = Registry(
    "cell", {"rnn": "regard.nn.cells:RNN", "gru": "regard.nn.cells:GRU", "lstm": "regard.nn.cells:LSTM"}
)
CONNECTIONS: Registry[Any] = Registry(
    "connection",
    {
        "none": "regard.nn.recurrent:PlainConnection",
        "residual": "regard.nn.recurrent:ResidualConnection",
        "highway": "regard.nn.recurrent:HighwayConnection",
        "dense": "regard.nn.recurrent:DenseConnection",
    },
)
TOKENIZERS: Registry[Any] = Registry(
    "tokenizer",
    {
        "words": Entry("regard.tokens.words:Words", uses=("least",)),
        "characters": Entry("regard.tokens.characters:Characters", uses=("least",)),
        "bytes": "regard.tokens.bytes:Bytes",
        "bpe": Entry("regard.tokens.bpe:BPE", uses=("least",)),
        "unigram": Entry("regard.tokens.unigram:Unigram", uses=("least",)),
    },
)
CORPORA: Registry[Any] = Registry(
    "corpus",
    {
        "files": Entry("regard.data.corpora:from_files", uses=("format", "source_field", "target_field")),
        "dates": Entry("regard.data.dates:dates_corpus", uses=("examples", "languages")),
        "copy": Entry("regard.data.sequences:copy_corpus", uses=("examples",)),
        "reverse": Entry("regard.data.sequences:reverse_corpus", uses=("examples",)),
    },
)
TEXT_CORPORA: Registry[Any] = Registry(
    "corpus",
    {
        "files": "regard.data.text:Text.from_files",
        "topics": "regard.data.text:Text.from_python",
        "library": "regard.data.text:Text.from_python",
    },
)
TAGGED_CORPORA: Registry[Any] = Registry(
    "corpus",
    {
        "files": Entry(
            "regard.data.tagged_files:from_files",
            uses=("format", "word_column", "tag_column", "label_column", "comments", "scheme", "broken"),
        ),
        "dates": Entry("regard.data.dates.tagged:tagged_dates", uses=("examples", "languages")),
    },
)
LABELLED_CORPORA: Registry[Any] = Registry(
    "corpus",
    {
        "files": Entry(
            "regard.data.label_files:from_files",
            uses=(
                *("format", "text_column", "label_column", "header", "text_field", "label_field"),
                *("phrases", "rename", "rename_in_trees", "multiple", "conversations", "speaker_column"),
            ),
        ),
        "dates": Entry("regard.data.dates.labelled:labelled_dates", uses=("examples", "languages")),
        "echoes": Entry("regard.data.dates.echoes:echoes", uses=("examples", "languages")),
    },
)
OPTIMIZERS: Registry[Any] = Registry(
    "optimizer",
    {
        "adamw": Entry("regard.train.optimizers:adamw", uses=("beta1", "beta2", "epsilon")),
        "adam": Entry("regard.train.optimizers:adam", uses=("beta1", "beta2", "epsilon")),
        "sgd": Entry("regard.train.optimizers:sgd", uses=("momentum",)),
    },
)
SCHEDULES: Registry[Any] = Registry(
    "schedule",
    {
        "constant": "regard.train.schedules:constant",
        "inverse_square_root": "regard.train.schedules:inverse_square_root",
        "cosine": Entry("regard.train.schedules:cosine", uses=("floor",)),
        "plateau": Entry("regard.train.schedules:plateau", uses=("floor", "factor", "patience")),
    },
)
UTILITIES: Registry[Any] = Registry(
    "metric", {"chrf": "regard.metrics.pairwise:pairwise_chrf", "bleu": "regard.metrics.pairwise:pairwise_bleu"}
)

ScoreName = Annotated[str, Named(SCORES)]
NormalizerName = Annotated[str, Named(NORMALIZERS)]
PositionName = Annotated[str, Named(POSITIONS)]
CellName = Annotated[str, Named(CELLS)]
ConnectionName = Annotated[str, Named(CONNECTIONS)]
TokenizerName = Annotated[str, Named(TOKENIZERS)]
CorpusName = Annotated[str, Named(CORPORA)]
TextCorpusName = Annotated[str, Named(TEXT_CORPORA)]
TaggedCorpusName = Annotated[str, Named(TAGGED_CORPORA)]
LabelledCorpusName = Annotated[str, Named(LABELLED_CORPORA)]
OptimizerName = Annotated[str, Named(OPTIMIZERS)]
ScheduleName = Annotated[str, Named(SCHEDULES)]
