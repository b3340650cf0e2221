"""Values stand beside the words that they are of."""

import numpy as np
import pytest
import torch
from hydra.utils import instantiate

from qaexp.config import compose
from qaexp.errors import ConfigError
from qaexp.explain.heats import frame, heats
from qaexp.models.scorer import read_out

QUESTION, ANSWER = ["how", "hot", "is", "it"], ["it", "is", "hot"]


def shown(*overrides: str, question: int = 4, answer: int = 3) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    scorer = instantiate(compose(overrides).model, vectors=torch.randn(30, 24))
    return read_out(scorer, torch.arange(2, 2 + question), torch.arange(9, 9 + answer))


def test_attentive_pooling_weighs_both_texts_and_aligns_them() -> None:
    read = shown("model=ap_cnn")
    alignment, of_question, of_answer = heats(read, QUESTION, ANSWER, unit=None)
    assert [alignment.name, of_question.name, of_answer.name] == ["pair.alignment", "pair.question_attention", "pair.attention"]
    assert (alignment.rows, alignment.columns) == (QUESTION, ANSWER)
    np.testing.assert_allclose(alignment.values, read["pair.alignment"].numpy())
    assert (of_question.columns, of_answer.columns) == (QUESTION, ANSWER)
    np.testing.assert_allclose(of_answer.values[0], read["pair.attention"].numpy())


@pytest.mark.parametrize("length", [3, 4], ids=["", "texts of one length"])
def test_word_by_word_attention_is_a_grid_with_the_question_down(length: int) -> None:
    read = shown("model=word_attention_lstms", "dataset=snli_partial", answer=length)
    [attention] = heats(read, QUESTION, [*ANSWER, "now"][:length], unit=None)
    np.testing.assert_allclose(attention.values, read["pair.alignment"].numpy())
    np.testing.assert_allclose(attention.values.sum(axis=0), 1, rtol=1e-6)


@pytest.mark.parametrize("length", [3, 4], ids=["", "texts of one length"])
def test_attention_to_the_question_stands_beside_its_words(length: int) -> None:
    read = shown("model=attention_lstms", "dataset=snli_partial", answer=length)
    [attention] = heats(read, QUESTION, [*ANSWER, "now"][:length], unit=None)
    assert attention.columns == QUESTION


def test_an_axis_of_something_else_is_not_taken_for_words() -> None:
    """MP-CNN shows the cosines of four widths, and both texts have four words."""
    read = shown("model=mp_cnn", answer=4)
    assert read["pair.width_cosine"].shape[-2:] == (4, 4)
    assert heats(read, QUESTION, [*ANSWER, "now"], unit=None) == []


def test_a_neuron_of_a_grid_is_taken_by_its_number() -> None:
    read = shown("model=tc_lstm", "dataset=snli_partial")
    grid = read["pair.grid"].numpy()
    assert grid.shape[1:] == (4, 3)
    [third] = heats(read, QUESTION, ANSWER, unit=2)
    [mean] = heats(read, QUESTION, ANSWER, unit=None)
    np.testing.assert_allclose(third.values, grid[2])
    np.testing.assert_allclose(mean.values, grid.mean(axis=0), rtol=1e-5, atol=1e-8)
    with pytest.raises(ConfigError, match=rf"pair\.grid has no slice 900; choose one of 0 to {len(grid) - 1}"):
        heats(read, QUESTION, ANSWER, unit=900)


def test_attention_within_a_text_becomes_what_each_word_receives_and_gates_their_mean() -> None:
    read = shown("model=ggsa")
    placed = {heat.name: heat for heat in heats(read, QUESTION, ANSWER, unit=None)}
    with pytest.raises(ConfigError, match=r"there is no grid that could have a slice 0, only question\.gate, question"):
        heats(read, QUESTION, ANSWER, unit=0)
    assert placed["question.attention"].columns == QUESTION
    np.testing.assert_allclose(placed["question.attention"].values[0], read["question.attention"].mean(dim=(0, 1)).numpy(), rtol=1e-6)
    np.testing.assert_allclose(placed["candidate.gate"].values[0], read["candidate.gate"].mean(dim=1).numpy(), rtol=1e-6)
    assert all(heat.values.shape == (1, len(heat.columns)) for heat in placed.values())


def test_hops_are_kept_apart() -> None:
    read = shown("model=multihop_sequential_lstm", question=4, answer=7)
    names = [heat.name for heat in heats(read, QUESTION, list("abcdefg"), unit=None)]
    hops = len(read["pair.attention"])
    assert hops > 1
    assert [name for name in names if name.startswith("pair.attention")] == [f"pair.attention {hop}" for hop in range(1, hops + 1)]


def test_a_model_that_shows_nothing_over_words_has_no_heats() -> None:
    assert heats(shown("model=qa_lstm"), QUESTION, ANSWER, unit=None) == []
    alignments = heats(shown("model=ctrn"), QUESTION, ANSWER, unit=None)  # those of steps to steps are not weights
    assert not [heat.name for heat in alignments if "alignment" in heat.name]


def test_the_table_has_a_line_for_each_value() -> None:
    table = frame(heats(shown("model=ap_cnn"), QUESTION, ANSWER, unit=None))
    assert len(table) == 4 * 3 + 4 + 3
    aligned = table[table["shown"] == "pair.alignment"]
    assert aligned.iloc[5][["row", "row word", "column", "column word"]].tolist() == [2, "hot", 3, "hot"]
    assert table[table["shown"] == "pair.attention"]["row"].isna().all()
