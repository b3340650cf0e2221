"""Names of data sets and models as people write them."""

from itertools import chain, pairwise

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
ABBREVIATIONS = [
    "ai",
    "ap",
    "arc",
    "cnn",
    "cntn",
    "ctrn",
    "gesd",
    "ggsa",
    "gru",
    "hd",
    "ii",
    "lc",
    "lr",
    "lstm",
    "mlp",
    "mp",
    "mv",
    "nbow",
    "ntn",
]
ABBREVIATIONS += ["qa", "qrnn", "rcnn", "sm", "svm", "tc"]
SPELLED = {"bilstm": "BiLSTM", "lstms": "LSTMs"}
SPELLED |= {part: part.upper() for part in ABBREVIATIONS}


def data_set_in_words(name: str) -> str:
    """
    >>> data_set_in_words("wikiqa"), data_set_in_words("trecqa_train_all"), data_set_in_words("snli_partial"), data_set_in_words("own")
    ('WikiQA', 'TREC QA train all', 'SNLI partial', 'own')
    """
    first, *more = name.split("_")
    return " ".join([DATA_SETS.get(first, first), *more])


def model_in_words(name: str) -> str:
    """
    >>> model_in_words("ap_bilstm"), model_in_words("qa_lstm_attention"), model_in_words("mine"), model_in_words("iggsa")
    ('AP-BiLSTM', 'QA-LSTM attention', 'mine', 'iGGSA')
    """
    if name in MODELS:
        return MODELS[name]
    words = [SPELLED.get(part, part) for part in name.split("_")]
    joints = ["-" if one != one.lower() and two != two.lower() else " " for one, two in pairwise(words)]
    return "".join(chain(*zip(words, [*joints, ""], strict=True)))
