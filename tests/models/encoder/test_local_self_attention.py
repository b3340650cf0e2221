"""Local self-attention against a loop over words and their windows."""

import pytest
import torch

from qaexp.errors import ConfigError
from qaexp.models.encoder.ggsa import GatedGroupSelfAttention
from qaexp.models.encoder.local_self_attention import LocalSelfAttention
from qaexp.models.encoder.self_attention import SelfAttention

LENGTHS = [9, 1, 4]
OPTIONS = {"num_heads": 2, "feed_forward_factor": 2, "scale_by": "head", "input_scale": 1.0}


@pytest.mark.parametrize("window", [1, 3, 7])
@torch.no_grad()
def test_each_word_attends_to_the_real_words_of_its_window(window: int) -> None:
    torch.manual_seed(1)
    encoder = LocalSelfAttention(6, window_size=window, gate=False, **OPTIONS)
    mask = torch.arange(10) < torch.tensor(LENGTHS)[:, None]
    QKV = torch.randn(3, 10, 3, 2, 3)
    attended, weights = encoder.attend(QKV, mask), encoder.weights(QKV, mask)
    for text, length in enumerate(LENGTHS):
        for head in range(2):
            Q, K, V = QKV[text, :, :, head].unbind(dim=1)
            for i in range(length):
                near = [j for j in range(length) if abs(i - j) <= window // 2]
                alone = torch.stack([Q[i] @ K[j] / 3**0.5 for j in near]).softmax(dim=0)
                expected = sum(weight * V[j] for weight, j in zip(alone, near, strict=True))
                torch.testing.assert_close(attended[text, i, head], expected, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(weights[text, head, i, near], alone, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_window_over_the_whole_text_is_global_attention() -> None:
    torch.manual_seed(1)
    local, everywhere = LocalSelfAttention(6, window_size=21, gate=False, **OPTIONS), SelfAttention(6, **OPTIONS)
    mask = torch.arange(10) < torch.tensor(LENGTHS)[:, None]
    QKV = torch.randn(3, 10, 3, 2, 3)
    torch.testing.assert_close(local.attend(QKV, mask)[mask], everywhere.attend(QKV, mask)[mask], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_the_gate_is_ggsas() -> None:
    torch.manual_seed(1)
    local = LocalSelfAttention(6, window_size=21, gate=True, **OPTIONS)
    ggsa = GatedGroupSelfAttention(6, group_size=20, offset=0, gate=True, **OPTIONS)
    ggsa.load_state_dict(local.state_dict())
    text = {"states": torch.randn(3, 10, 6), "mask": torch.arange(10) < torch.tensor(LENGTHS)[:, None]}
    torch.testing.assert_close(local(text)["states"][text["mask"]], ggsa(text)["states"][text["mask"]], rtol=1e-5, atol=1e-5)


def test_a_window_has_a_middle() -> None:
    with pytest.raises(ConfigError, match="window_size=10"):
        LocalSelfAttention(6, window_size=10, gate=False, **OPTIONS)
