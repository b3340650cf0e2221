"""Names of data sets, models and runs as people write them."""

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Any

DATA_SETS = {
    "askubuntu": "AskUbuntu",
    "insuranceqa": "InsuranceQA",
    "qatarliving": "QatarLiving",
    "snli": "SNLI",
    "trecqa": "TREC QA",
    "wikiqa": "WikiQA",
    "yahoomqa": "Yahoo MQA",
    "yahooqa": "YahooQA",
}
MODELS = {"anmm": "aNMM", "arc_i": "ARC-I", "bm25": "BM25", "iarnn_gate": "IARNN-GATE", "iggsa": "iGGSA", "tfidf": "TF-IDF"}
ABBREVIATIONS = "ai ap arc cnn cntn ctrn gesd ggsa gru hd ii lc lr lstm mlp mp mv nbow ntn qa qrnn rcnn sm svm tc"
SPELLED = {"bilstm": "BiLSTM", "lstms": "LSTMs"}
SPELLED |= {part: part.upper() for part in ABBREVIATIONS.split()}


def data_set_in_words(name: str) -> str:
    """A data set's name as papers write it.

    >>> data_set_in_words("wikiqa"), data_set_in_words("trecqa_train_all"), data_set_in_words("snli_partial"), data_set_in_words("own")
    ('WikiQA', 'TREC QA train all', 'SNLI partial', 'own')
    """
    first, *more = name.split("_")
    return " ".join([DATA_SETS.get(first, first), *more])


def model_in_words(name: str) -> str:
    """A model's name as papers write it.

    >>> model_in_words("ap_bilstm"), model_in_words("qa_lstm_attention"), model_in_words("mine"), model_in_words("iggsa")
    ('AP-BiLSTM', 'QA-LSTM attention', 'mine', 'iGGSA')
    """
    if name in MODELS:
        return MODELS[name]
    words = [SPELLED.get(part, part) for part in name.split("_")]
    joints = ["-" if one != one.lower() and two != two.lower() else " " for one, two in pairwise(words)]
    return "".join(chain(*zip(words, [*joints, ""], strict=True)))


def run_in_words(config: Mapping[str, Any]) -> str:
    """The `run_name` that the user gave; else the run's model, data set and seed.

    >>> run_in_words({"run_name": "ap_cnn_wikiqa_seed2", "choices": {"model": "ap_cnn", "dataset": "wikiqa"}, "seed": 2})
    'AP-CNN on WikiQA, seed 2'
    >>> run_in_words({"run_name": "pretrain_rcnn_toy_seed1", "choices": {"model": "rcnn", "dataset": "toy"}, "seed": 1})
    'pre-training of RCNN on toy, seed 1'
    >>> run_in_words({"run_name": "the best so far", "choices": {"model": "ap_cnn", "dataset": "wikiqa"}, "seed": 2})
    'the best so far'
    """
    model, data, seed = config["choices"].get("model", ""), config["choices"].get("dataset", ""), config["seed"]
    usual, words = f"{model}_{data}_seed{seed}", f"{model_in_words(model)} on {data_set_in_words(data)}, seed {seed}"
    named = {usual: words, f"pretrain_{usual}": f"pre-training of {words}"}
    name = str(config.get("run_name") or usual)
    return named.get(name, name)
