"""What options may be, numbers and words: with others a run would fail late and name something else, or learn nothing."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

COUNTS = (
    r"batch_size|block_tokens|max_epochs|patience|steps_per_epoch|epochs|hits|num|window|window_size|group_size|dim|\w+_dim|"
    r"accumulate_grad_batches|max_(question|candidate)_length|feed_forward_factor|k|cells|pooling_(rows|columns)|negative|min_count|"
    r"num_(filters|heads|blocks|slices|hops|bins|directions|widths|dimension_filters|weight_sets|candidates)"
)
SEEDS = r"seed|\w+_seed"
OPTIONAL = r"num_(layers|train|dev|test|held_out)"  # of dense layers; without any, the output is linear
WHOLE = (COUNTS, SEEDS, OPTIONAL)
LIMITS = {  # the last word of an option's name: the least it may be, the first that is too much, in words
    COUNTS: (1, math.inf, "at least 1"),
    SEEDS: (0, 2**32, "from 0 to 4294967295"),
    OPTIONAL: (0, math.inf, "at least 0"),
    r"dropout_rate|(dev|test)_share": (0, 1, "at least 0 and less than 1"),
    r"limit_train_batches": (1e-9, math.inf, "more than 0"),
    r"lr|margin|momentum|weight_decay|eps|alpha|gradient_clip_val|deviation": (0, math.inf, "at least 0"),
    r"mean_length": (1e-9, math.inf, "more than 0"),
}
LARGEST = 3.4e38  # that weights, of float32, can be multiplied by
WHOLE_EPOCHS = (
    "a run has whole epochs, each with the metrics of all of dev at its end, and ranks whole splits; "
    "leave it out, and set trainer.max_epochs, or trainer.limit_train_batches for shorter epochs"
)
ONLY = {  # what an option of Lightning's may be, as others fail late, change nothing, or make a record name other weights; and why
    "precision": (("32-true", "bf16-mixed", "16-mixed"), "one of 32-true, bf16-mixed, 16-mixed is expected"),  # weights stay float32
    "num_nodes": ((None, 1), "the processes of one machine share a run's folder, and several machines have no such place; leave it out"),
    "num_sanity_val_steps": ((None, 0), "a run scores all of dev or nothing; leave it out"),
    "overfit_batches": ((None, 0), "dev has all its questions; set trainer.limit_train_batches to train on a few batches"),
    "reload_dataloaders_every_n_epochs": ((None, 1), "each epoch draws its own negatives; leave it out"),
    **dict.fromkeys(("callbacks", "plugins", "enable_progress_bar"), ((None,), "a run brings its own; leave it out")),
    **dict.fromkeys(("val_check_interval", "check_val_every_n_epoch", "limit_val_batches"), ((None,), WHOLE_EPOCHS)),
    **dict.fromkeys(("limit_test_batches", "max_steps", "max_time"), ((None,), WHOLE_EPOCHS)),
}


def beyond(config: Mapping[Any, Any], prefix: str = "") -> Iterator[str]:
    """A sentence for each value of a resolved configuration that is out of its limits.

    >>> list(beyond({"optimizer": {"lr": 0.1}, "dataset": {"batch_size": 0}}))
    ['dataset.batch_size=0: at least 1 is expected']
    >>> list(beyond({"dataset": {"seed": -1}, "seed": -1, "patience": 1.5}))[:2]
    ['seed=-1: from 0 to 4294967295 is expected', 'patience=1.5: a whole number is expected']
    >>> list(beyond({"similarity": {"num_layers": -1}, "feed_forward_factor": 0}))
    ['feed_forward_factor=0: at least 1 is expected', 'similarity.num_layers=-1: at least 0 is expected']
    >>> list(beyond({"deviation": float("inf")}))
    ['deviation=inf: a number of float32, at most 3.4e38, is expected']
    """
    for key, value in sorted(config.items(), key=lambda item: isinstance(item[1], Mapping)):  # seed before dataset.seed, which it gives
        if isinstance(value, Mapping):
            yield from beyond(value, f"{prefix}{key}.")
        elif key in ONLY and value not in ONLY[key][0]:
            yield f"{prefix}{key}={value}: {ONLY[key][1]}"
        elif isinstance(value, (int, float)) and not abs(value) <= LARGEST:
            yield f"{prefix}{key}={value}: a number of float32, at most 3.4e38, is expected"
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            for names, (least, too_much, words) in LIMITS.items():
                if not re.fullmatch(names, str(key)):
                    continue
                if not least <= value < too_much:
                    yield f"{prefix}{key}={value}: {words} is expected"
                elif names in WHOLE and isinstance(value, float):
                    yield f"{prefix}{key}={value}: a whole number is expected"
