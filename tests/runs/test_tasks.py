"""The hardest questions, by hand."""

from pathlib import Path

import pandas as pd
import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.data.module import RankingDataModule
from qaexp.runs.tasks import task_of


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> RankingDataModule:
    options = [f"cache_dir={tmp_path_factory.mktemp('cache')}", "dataset.reader.num_dev=4", "dataset.reader.num_candidates=8"]
    return instantiate(compose(options).dataset)


def test_questions_come_by_the_rank_of_their_best_answer_then_by_how_far_it_is_behind(data: RankingDataModule) -> None:
    table = data.splits["dev"]
    assert table.num_questions == 4
    scores = torch.full((table.num_pairs,), -9.0)
    wanted = {0: [0.9, 0.5], 1: [0.1, 0.2, 0.3], 2: [0.1, 0.8], 3: [0.1, 0.9]}  # of the right answer, then of others
    answers = {}
    for question, (right, *wrong) in wanted.items():
        pairs = range(table.offsets[question], table.offsets[question + 1])
        answers[question] = next(pair for pair in pairs if table.labels[pair] == 1)
        scores[answers[question]] = right
        for pair, score in zip([pair for pair in pairs if table.labels[pair] == 0], wrong, strict=False):
            scores[pair] = score
    found = task_of(data).hardest("dev", scores, count=3)
    assert found["question"].tolist() == [table.question_ids[question].decode() for question in (1, 3, 2)]
    assert found["rank"].tolist() == [3, 2, 2]
    assert found["candidates"].tolist() == [8, 8, 8]
    assert found.index.tolist() == [answers[question] for question in (1, 3, 2)]
    assert found["score"].tolist() == pytest.approx([0.1, 0.1, 0.1])
    assert found["its score"].tolist() == pytest.approx([0.3, 0.9, 0.8])
    assert found["text"].iloc[0] == data.corpus.written(int(table.questions[1]))
    assert found["text"].iloc[0][0].isupper()
    assert found["text"].iloc[0].endswith("?")
    assert found["answer"].iloc[1] == data.corpus.written(int(table.candidates[answers[3]]))
    assert (found["ranked first"] != found["answer"]).all()


def test_pairs_with_classes_come_by_the_probability_of_their_own(data_dir: Path, cache_dir: Path) -> None:
    data = instantiate(compose(["dataset=snli_partial", f"data_dir={data_dir}", f"cache_dir={cache_dir}"]).dataset)
    labels = torch.from_numpy(data.splits["dev"].labels.astype("int64"))
    scores = torch.nn.functional.one_hot(labels, 3).float()
    scores[7] = torch.tensor([0.0, 0.0, 0.0]).index_fill(0, (labels[7] + 1) % 3, 4.0)
    scores[11] = 0.0
    found = task_of(data).hardest("dev", scores, count=2)
    assert found.index.tolist() == [7, 11]
    assert found["class"].iloc[0] == data.classes[labels[7]]
    assert found["predicted"].iloc[0] == data.classes[(labels[7] + 1) % 3]
    assert found["its probability"].iloc[1] == pytest.approx(1 / 3)


def test_ids_are_written_as_they_are_and_not_for_a_spreadsheet(tmp_path: Path) -> None:
    file, ids = tmp_path / "pairs.csv", ["@b", "-c", "=d", "plain"]
    lines = [f"{name},what is {name},{answer},{label},test" for name in ids for answer, label in (("this", 1), ("that", 0))]
    file.write_text("\n".join(["question_id,question,candidate,label,split", *lines]) + "\n")
    options = [f"dataset.reader.folder={file}", "dataset/vectors=random", f"cache_dir={tmp_path}"]
    data = instantiate(compose(["dataset=own", *options]).dataset)
    task_of(data).write(tmp_path, "test", torch.arange(8.0), "tag")
    assert pd.read_csv(tmp_path / "test.questions.csv")["question"].tolist() == ids
