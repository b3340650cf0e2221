"""Today's places of classes in older configurations, so that checkpoints and records made before a move still load."""

from collections.abc import Callable
from typing import Any

RENAMED = {
    "qaexp.data.embeddings.OwnTextVectors": "qaexp.data.vectors.sources.OwnTextVectors",
    "qaexp.data.embeddings.PublishedVectors": "qaexp.data.vectors.sources.PublishedVectors",
    "qaexp.data.embeddings.RandomVectors": "qaexp.data.vectors.sources.RandomVectors",
    "qaexp.data.lists.QuestionLists": "qaexp.data.negatives.QuestionLists",
    "qaexp.data.retrieved.BM25Negatives": "qaexp.data.bm25.BM25Negatives",
    "qaexp.losses.ClassCrossEntropy": "qaexp.training.losses.ClassCrossEntropy",
    "qaexp.losses.PairwiseHinge": "qaexp.training.losses.PairwiseHinge",
    "qaexp.losses.PointwiseCrossEntropy": "qaexp.training.losses.PointwiseCrossEntropy",
    "qaexp.models.ai_cnn.AICNN": "qaexp.models.pairwise.ai_cnn.AICNN",
    "qaexp.models.anmm.ANMM": "qaexp.models.pairwise.anmm.ANMM",
    "qaexp.models.arc_ii.ARCII": "qaexp.models.pairwise.arc_ii.ARCII",
    "qaexp.models.attention_lstms.AttentionLSTMs": "qaexp.models.pairwise.sequential_lstms.AttentionLSTMs",
    "qaexp.models.coupled_cells.LooseCell": "qaexp.models.ops.coupled_cells.LooseCell",
    "qaexp.models.coupled_cells.TightCell": "qaexp.models.ops.coupled_cells.TightCell",
    "qaexp.models.coupled_lstm.CoupledLSTM": "qaexp.models.pairwise.coupled_lstm.CoupledLSTM",
    "qaexp.models.encoder.bilstm.BiLSTM": "qaexp.models.encoder.recurrent.BiLSTM",
    "qaexp.models.encoder.gru.GRU": "qaexp.models.encoder.recurrent.GRU",
    "qaexp.models.encoder.lstm.LSTM": "qaexp.models.encoder.recurrent.LSTM",
    "qaexp.models.encoder.squashed_cnn.SquashedCNN": "qaexp.models.encoder.cnn.SquashedCNN",
    "qaexp.models.encoder.stacked_cnn.StackedCNN": "qaexp.models.encoder.cnn.StackedCNN",
    "qaexp.models.encoder.words.Words": "qaexp.models.stage.Words",
    "qaexp.models.interaction.identity.NoInteraction": "qaexp.models.stage.NoInteraction",
    "qaexp.models.match.bilinear.BilinearMatch": "qaexp.models.pairwise.match.BilinearMatch",
    "qaexp.models.match.cosine.CosineMatch": "qaexp.models.pairwise.match.CosineMatch",
    "qaexp.models.match.tensor.TensorMatch": "qaexp.models.pairwise.match.TensorMatch",
    "qaexp.models.mp_cnn.MPCNN": "qaexp.models.pairwise.mp_cnn.MPCNN",
    "qaexp.models.mv_lstm.MVLSTM": "qaexp.models.pairwise.mv_lstm.MVLSTM",
    "qaexp.models.output.adaptive_softmax.AdaptiveSoftmax": "qaexp.models.decoder.AdaptiveSoftmax",
    "qaexp.models.output.full_softmax.FullSoftmax": "qaexp.models.decoder.FullSoftmax",
    "qaexp.models.pooling.last.LastPooling": "qaexp.models.pooling.over_time.LastPooling",
    "qaexp.models.pooling.max.MaxPooling": "qaexp.models.pooling.over_time.MaxPooling",
    "qaexp.models.pooling.mean.MeanPooling": "qaexp.models.pooling.over_time.MeanPooling",
    "qaexp.models.pooling.multihop_mlp.MultihopMLP": "qaexp.models.pooling.multihop.MultihopMLP",
    "qaexp.models.pooling.multihop_sequential.MultihopSequential": "qaexp.models.pooling.multihop.MultihopSequential",
    "qaexp.models.pooling.sum.SumPooling": "qaexp.models.pooling.over_time.SumPooling",
    "qaexp.models.random_guess.RandomGuess": "qaexp.models.lexical.baselines.RandomGuess",
    "qaexp.models.similarity.gesd.GESD": "qaexp.models.similarity.cosine.GESD",
    "qaexp.models.similarity.holographic.Holographic": "qaexp.models.similarity.dense.Holographic",
    "qaexp.models.similarity.join.JoinLayer": "qaexp.models.similarity.dense.JoinLayer",
    "qaexp.models.similarity.mlp.MLP": "qaexp.models.similarity.dense.MLP",
    "qaexp.models.similarity.tensor.TensorLayer": "qaexp.models.similarity.bilinear.TensorLayer",
    "qaexp.models.single_lstm.SingleLSTM": "qaexp.models.pairwise.sequential_lstms.SingleLSTM",
    "qaexp.models.surface.bm25.BM25": "qaexp.models.lexical.bm25.BM25",
    "qaexp.models.surface.bm25_scores.BM25Scores": "qaexp.models.lexical.baselines.BM25Scores",
    "qaexp.models.surface.candidate_only.CandidateOnly": "qaexp.models.lexical.baselines.CandidateOnly",
    "qaexp.models.surface.common_words.CommonWords": "qaexp.models.lexical.shared_words.CommonWords",
    "qaexp.models.surface.containment.Containment": "qaexp.models.lexical.shared_words.Containment",
    "qaexp.models.surface.idf_containment.IDFContainment": "qaexp.models.lexical.shared_words.IDFContainment",
    "qaexp.models.surface.jaccard.Jaccard": "qaexp.models.lexical.shared_words.Jaccard",
    "qaexp.models.surface.svm.SVM": "qaexp.models.lexical.svm.SVM",
    "qaexp.models.surface.tfidf.TFIDF": "qaexp.models.lexical.tfidf.TFIDF",
    "qaexp.models.word_attention_lstms.WordAttentionLSTMs": "qaexp.models.pairwise.sequential_lstms.WordAttentionLSTMs",
    "qaexp.models.word_overlap.WordOverlap": "qaexp.models.lexical.shared_words.WordOverlap",
    "qaexp.training.schedules.InverseEpoch": "qaexp.training.trainer.InverseEpoch",
}
"""The `_target_` of an older configuration to today's."""


def with_current_targets(node: Any) -> Any:
    """A configuration in plain dicts and lists, with today's `_target_` in place of older ones.

    >>> with_current_targets({"tokenise": {"_target_": "qaexp.losses.PairwiseHinge", "margin": 0.2}})
    {'tokenise': {'_target_': 'qaexp.training.losses.PairwiseHinge', 'margin': 0.2}}
    """
    return _with_targets(node, lambda target: RENAMED.get(target, target) if isinstance(target, str) else with_current_targets(target))


SHORTENED = ("qaexp.", "torch.optim.", "pytorch_lightning.")
ALSO_OURS = ("torch.optim.AdamW",)
"""Classes of these packages that keep their module, because one of our classes has the same name."""


def with_short_targets(node: Any) -> Any:
    """The same configuration, without the modules of our classes and of the torch and Lightning classes that conf/ names.

    So moving a class of ours changes no key. Other classes keep their modules: a class of yours may have the name of one of ours.

    >>> [with_short_targets({"_target_": name}) for name in ("qaexp.losses.PairwiseHinge", "mine.PairwiseHinge")]
    [{'_target_': 'PairwiseHinge'}, {'_target_': 'mine.PairwiseHinge'}]
    """
    return _with_targets(node, _short)


def _short(target: Any) -> str:
    name = str(target)
    return name.rpartition(".")[2] if name.startswith(SHORTENED) and name not in ALSO_OURS else name


def _with_targets(node: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(node, dict):
        return {name: change(value) if name == "_target_" else _with_targets(value, change) for name, value in node.items()}
    if isinstance(node, list):
        return [_with_targets(value, change) for value in node]
    return node
